#include "topology/slice_group.hpp"
#include "core/exact_sum.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "comm/counting.hpp"
#include "comm/transports.hpp"
#include "topology/round.hpp"

namespace fedsinkhorn {
namespace {

using Numbers = std::vector<double>;

/// 40 are more than kManyClients.
constexpr std::size_t kClientCounts[] = {1, 3, 7, 40};
constexpr std::size_t kTargetCounts[] = {1, 4};

/// Some of them empty, the first among them if there are several.
std::vector<std::size_t> uneven_sizes(std::size_t clients) {
  std::vector<std::size_t> sizes;
  for (std::size_t k = 0; k < clients; ++k) sizes.push_back(clients == 1 ? 5 : 3 * k % 5);
  return sizes;
}

/// Entry i of a target, as client k has it.
double entry(std::size_t k, std::size_t target, std::size_t i) {
  return 1 / static_cast<double>(3 + i + 100 * target + 10'000 * k);
}

void on_each(std::size_t clients, const std::function<void(SliceGroup&, CountingCommunicator&)>& body) {
  run_on_threads(clients, Seconds(60), [&](Communicator& communicator) {
    CountingCommunicator traffic(communicator);
    SliceGroup group(Collectives(traffic), uneven_sizes(clients));
    body(group, traffic);
  });
}

void on_all(const std::function<void(SliceGroup&, CountingCommunicator&, std::size_t targets)>& body) {
  for (const std::size_t clients : kClientCounts) {
    for (const std::size_t targets : kTargetCounts) {
      SCOPED_TRACE(std::to_string(clients) + " clients, " + std::to_string(targets) + " targets");
      on_each(clients, [&](SliceGroup& group, CountingCommunicator& traffic) { body(group, traffic, targets); });
    }
  }
}

/// What client k has of the whole of all targets.
Numbers whole_of(const SliceGroup& group, std::size_t k, std::size_t targets) {
  Numbers whole;
  for (std::size_t target = 0; target < targets; ++target) {
    for (std::size_t i = 0; i < group.whole_size(); ++i) whole.push_back(entry(k, target, i));
  }
  return whole;
}

/// The part of it that is a member's slice, one target after the other.
Numbers slice_of(const SliceGroup& group, std::size_t member, std::size_t targets, const Numbers& whole) {
  Numbers slice;
  for (std::size_t target = 0; target < targets; ++target) {
    const Range range = group.slice(member);
    for (std::size_t i = range.first; i < range.last; ++i) slice.push_back(whole[target * group.whole_size() + i]);
  }
  return slice;
}

TEST(SliceGroup, SlicesLieOneAfterTheOther) {
  on_each(7, [](SliceGroup& group, CountingCommunicator& traffic) {
    const std::vector<std::size_t> sizes = uneven_sizes(7);
    EXPECT_EQ(group.members(), 7U);
    EXPECT_EQ(group.whole_size(), std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
    EXPECT_EQ(group.own_size(), sizes[traffic.rank()]);
    EXPECT_EQ(group.own_slice(), group.slice(traffic.rank()));
    std::size_t last = 0;
    for (std::size_t k = 0; k < 7; ++k) {
      EXPECT_EQ(group.slice(k).first, last);
      EXPECT_EQ(group.slice(k).size(), sizes[k]);
      last = group.slice(k).last;
    }
  });
}

TEST(SliceGroup, EveryoneGetsToKnowTheWhole) {
  on_all([](SliceGroup& group, CountingCommunicator& traffic, std::size_t targets) {
    const Numbers expected = whole_of(group, 99, targets);
    const Numbers own = slice_of(group, traffic.rank(), targets, expected);
    Numbers whole(expected.size());
    group.gather(Payload::slice, targets, own.data(), whole.data());
    EXPECT_EQ(whole, expected);
  });
}

/// A note that depends on the client and on the target.
Note note_of_target(std::size_t k, std::size_t target) {
  Note note;
  note.flags = k == 1 ? Note::kStop : 0;
  note.error_a.add(entry(k, target, 0));
  note.error_b.add(entry(k, target, 1));
  note.sums.resize(1);
  note.sums[0].add(1);
  note.maxima = {static_cast<double>(k)};
  return note;
}

void expect_combined(const std::vector<Note>& notes, std::size_t clients) {
  for (std::size_t target = 0; target < notes.size(); ++target) {
    Note expected = note_of_target(0, target);
    for (std::size_t k = 1; k < clients; ++k) add_note(Norm::l1, expected, note_of_target(k, target));
    EXPECT_EQ(notes[target].has(Note::kStop), clients > 1);
    EXPECT_EQ(notes[target].error_a.total(), expected.error_a.total());
    EXPECT_EQ(notes[target].error_b.total(), expected.error_b.total());
    EXPECT_EQ(notes[target].sums[0].total(), static_cast<double>(clients));
    EXPECT_EQ(notes[target].maxima[0], static_cast<double>(clients - 1));
  }
}

TEST(SliceGroup, NotesTravelWithTheSlicesOrAlone) {
  on_all([](SliceGroup& group, CountingCommunicator& traffic, std::size_t targets) {
    const Numbers expected = whole_of(group, 99, targets);
    const Numbers own = slice_of(group, traffic.rank(), targets, expected);
    Numbers whole(expected.size());
    std::vector<Note> with;
    for (std::size_t target = 0; target < targets; ++target) with.push_back(note_of_target(traffic.rank(), target));
    std::vector<Note> alone = with;
    group.gather(Payload::slice, targets, own.data(), whole.data(), Norm::l1, with);
    EXPECT_EQ(whole, expected);
    expect_combined(with, group.members());
    group.share_notes(Norm::l1, alone);
    expect_combined(alone, group.members());
  });
}

TEST(SliceGroup, SumsAreRoundedOnce) {
  on_all([](SliceGroup& group, CountingCommunicator& traffic, std::size_t targets) {
    std::vector<ExactSum> exact(targets * group.own_size());
    for (std::size_t k = 0; k < group.members(); ++k) {
      const Numbers of_client = slice_of(group, traffic.rank(), targets, whole_of(group, k, targets));
      for (std::size_t i = 0; i < exact.size(); ++i) exact[i].add(of_client[i]);
    }
    Numbers expected;
    for (const ExactSum& sum : exact) expected.push_back(sum.total());
    Numbers sums(expected.size());
    group.sum(Payload::sum, targets, whole_of(group, traffic.rank(), targets).data(), sums.data());
    EXPECT_EQ(sums, expected);
  });
}

TEST(SliceGroup, SummandsComeOneMemberAfterTheOther) {
  on_all([](SliceGroup& group, CountingCommunicator& traffic, std::size_t targets) {
    Numbers expected;
    for (std::size_t k = 0; k < group.members(); ++k) {
      const Numbers of_client = slice_of(group, traffic.rank(), targets, whole_of(group, k, targets));
      expected.insert(expected.end(), of_client.begin(), of_client.end());
    }
    EXPECT_EQ(group.summands(Payload::sum, targets, whole_of(group, traffic.rank(), targets).data()), expected);
  });
}

/// What has been sent since it was asked last.
class Meter {
 public:
  explicit Meter(const CountingCommunicator& traffic) : traffic_(traffic) {}
  Sent since() {
    const auto phase = static_cast<std::size_t>(traffic_.phase());
    const Traffic now = traffic_.traffic();
    const Sent sent{now.bytes_sent[phase] - before_.bytes_sent[phase],
                    now.messages_sent[phase] - before_.messages_sent[phase]};
    before_ = now;
    return sent;
  }

 private:
  const CountingCommunicator& traffic_;
  Traffic before_;
};

TEST(SliceGroup, SendsWhatItSays) {
  on_all([](SliceGroup& group, CountingCommunicator& traffic, std::size_t targets) {
    Numbers whole(targets * group.whole_size());
    Numbers own(targets * group.own_size());
    std::vector<Note> notes(targets);
    const std::size_t numbers = numbers_in(notes);
    const std::size_t me = traffic.rank();
    std::vector<std::size_t> sizes;
    for (std::size_t k = 0; k < group.members(); ++k) sizes.push_back(group.slice(k).size());
    std::vector<RoundExchange> with_notes;
    add_gather(with_notes, sizes, me, targets, numbers);
    Sent stated_with_notes;
    for (const RoundExchange& exchange : with_notes) stated_with_notes = stated_with_notes + exchange.sent();
    Meter meter(traffic);
    group.gather(Payload::slice, targets, own.data(), whole.data());
    EXPECT_EQ(meter.since(), gather_exchange(sizes, me, targets).sent());
    group.gather(Payload::slice, targets, own.data(), whole.data(), Norm::l1, notes);
    EXPECT_EQ(meter.since(), stated_with_notes);
    group.sum(Payload::sum, targets, whole.data(), own.data());
    EXPECT_EQ(meter.since(), sum_exchange(sizes, me, targets).sent());
    group.share_notes(Norm::l1, notes);
    EXPECT_EQ(meter.since(), notes_exchange(sizes.size(), me, numbers).sent());
  });
}

}  // namespace
}  // namespace fedsinkhorn
