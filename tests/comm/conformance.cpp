#include "comm/conformance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/counting.hpp"
#include "comm/secure_sums.hpp"
#include "comm/sum_server.hpp"
#include "core/exact_sum.hpp"
#include "fedsinkhorn/error.hpp"
#include "support/labels.hpp"

namespace fedsinkhorn::test {
namespace {

using Counts = std::vector<std::size_t>;

constexpr std::array kRoutes = {Route::direct, Route::through_root};
constexpr auto kFirst = Tag::first_free;
constexpr auto kSecond = static_cast<Tag>(static_cast<int>(Tag::first_free) + 1);
// Nothing, one byte, odd, more than MPI sends at once without asking, several megabytes.
#ifdef __SANITIZE_THREAD__
constexpr std::size_t kLongest = 200'000;  // every byte costs a hundred times as much there
#else
constexpr std::size_t kLongest = 2'500'000;
#endif
constexpr std::array<std::size_t, 5> kSizes = {0, 1, 1001, 70'000, kLongest};

template <class... Arguments>
void expect(bool condition, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  if (!condition) throw std::runtime_error(fmt::format(text, std::forward<Arguments>(arguments)...));
}

std::size_t sum_of(const Counts& counts) { return std::accumulate(counts.begin(), counts.end(), std::size_t{0}); }

// ---------------------------------------------------------------------------------------------------------------------
// Point to point

/// Bytes that tell sender, receiver and occasion apart.
std::vector<std::byte> letter(std::size_t from, std::size_t to, std::size_t occasion, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>((i * 7 + i / 251 + from * 31 + to * 57 + occasion * 101) % 256);
  }
  return bytes;
}

void blocking(Communicator& communicator) {
  const std::size_t rank = communicator.rank();
  for (const std::size_t size : kSizes) {
    std::vector<std::byte> got(size);
    const auto receive_from = [&](std::size_t from, std::size_t occasion) {
      communicator.receive(got, from, on(kFirst));
      expect(got == letter(from, rank, occasion, size), "{} bytes from client {} are wrong", size, from);
    };
    for (std::size_t k = 1; rank == 0 && k < communicator.size(); ++k) {
      communicator.send(letter(0, k, 0, size), k, on(kFirst));
      receive_from(k, 1);
    }
    if (rank != 0) {
      receive_from(0, 0);
      communicator.send(letter(rank, 0, 1, size), 0, on(kFirst));
    }
  }
}

// Everything at once: all sizes from everybody to everybody.
void many_in_flight(Communicator& communicator) {
  const std::size_t rank = communicator.rank();
  const std::size_t size = communicator.size();
  std::vector<std::vector<std::byte>> sent(size * kSizes.size());
  std::vector<std::vector<std::byte>> got(size * kSizes.size());
  std::vector<std::unique_ptr<Pending>> messages;
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    for (std::size_t k = 0; k < size; ++k) {
      if (k == rank) continue;
      const std::size_t at = i * size + k;
      sent[at] = letter(rank, k, i, kSizes[i]);
      got[at].resize(kSizes[i]);
      messages.push_back(communicator.start_send(sent[at], k, on(kFirst)));
      messages.push_back(communicator.start_receive(got[at], k, on(kFirst)));
    }
  }
  std::reverse(messages.begin(), messages.end());  // waiting may happen in any order
  for (const auto& message : messages) communicator.wait(*message);
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    for (std::size_t k = 0; k < size; ++k) {
      if (k == rank) continue;
      expect(got[i * size + k] == letter(k, rank, i, kSizes[i]), "{} bytes from client {} are wrong", kSizes[i], k);
    }
  }
}

void tags_and_order(Communicator& communicator) {
  constexpr std::size_t kCount = 20;
  const std::size_t rank = communicator.rank();
  const std::size_t size = communicator.size();
  if (size == 1) return;
  const std::size_t right = (rank + 1) % size;
  const std::size_t left = (rank + size - 1) % size;
  std::vector<double> first(kCount);
  std::vector<double> second(kCount);
  std::iota(first.begin(), first.end(), 100.0 * static_cast<double>(rank));
  std::iota(second.begin(), second.end(), 1e6);
  std::vector<std::unique_ptr<Pending>> sends;
  for (std::size_t i = 0; i < kCount; ++i) {
    sends.push_back(communicator.start_send(std::as_bytes(std::span(&first[i], 1)), right, on(kFirst)));
    sends.push_back(communicator.start_send(std::as_bytes(std::span(&second[i], 1)), right, on(kSecond)));
  }
  // The second tag first, and of the first tag the last message first: a receive gets the message of its turn.
  for (std::size_t i = 0; i < kCount; ++i) {
    double value = 0;
    communicator.receive(std::as_writable_bytes(std::span(&value, 1)), left, on(kSecond));
    expect(value == 1e6 + static_cast<double>(i), "message {} of the second tag is {}", i, value);
  }
  std::vector<double> got(kCount);
  std::vector<std::unique_ptr<Pending>> receives;
  for (double& value : got) {
    receives.push_back(communicator.start_receive(std::as_writable_bytes(std::span(&value, 1)), left, on(kFirst)));
  }
  for (std::size_t i = kCount; i-- > 0;) {
    communicator.wait(*receives[i]);
    expect(got[i] == static_cast<double>(100 * left + i), "message {} of the first tag is {}", i, got[i]);
  }
  for (const auto& message : sends) communicator.wait(*message);
}

// ---------------------------------------------------------------------------------------------------------------------
// Waiting and time

// Long enough to see that something does not happen by itself, short enough for many checks.
constexpr double kMoment = 0.002;
// The clock's ticks and its seconds are rounded.
constexpr double kTick = 1e-6;

/// In a circle of at least two clients.
struct Neighbours {
  explicit Neighbours(const Communicator& communicator)
      : right((communicator.rank() + 1) % communicator.size()),
        left((communicator.rank() + communicator.size() - 1) % communicator.size()) {}
  std::size_t right;
  std::size_t left;
};

void passing_time(Communicator& communicator) {
  for (int i = 0; i < 3; ++i) {
    const double until = communicator.now() + kMoment;
    expect(!communicator.wait_any({}, until), "something is done where there is nothing");
    expect(communicator.now() >= until - kTick, "a wait of {} s ends {} s early", kMoment, until - communicator.now());
  }
  expect(!communicator.wait_any({}, communicator.now() - 1), "something was done in the past");
}

// Client 0 waits for all others, who send one after the other, when they are told to.
void waiting_for_any(Communicator& communicator) {
  const std::size_t size = communicator.size();
  if (communicator.rank() != 0) {
    const std::size_t number = communicator.rank();
    communicator.receive({}, 0, on(kFirst));
    communicator.send(std::as_bytes(std::span(&number, 1)), 0, on(kSecond));
    return;
  }
  std::vector<std::size_t> numbers(size);
  std::vector<std::unique_ptr<Pending>> receives(size);
  std::vector<Pending*> open;
  for (std::size_t k = 1; k < size; ++k) {
    receives[k] = communicator.start_receive(std::as_writable_bytes(std::span(&numbers[k], 1)), k, on(kSecond));
    open.push_back(receives[k].get());
  }
  for (std::size_t told = size; told-- > 1;) {
    const double until = communicator.now() + kMoment;
    expect(!communicator.wait_any(open, until), "a message came that was not sent");
    expect(communicator.now() >= until - kTick, "a wait ends {} s early", until - communicator.now());
    expect(!communicator.wait_any(open, until - kMoment), "a message came in the past");
    communicator.send({}, told, on(kFirst));
    expect(communicator.wait_any(open, communicator.now() + communicator.timeout()), "a message did not come");
    expect(communicator.wait_any(open, until - kMoment), "what is done counts no longer");
    for (Pending* const message : open) {
      const bool is_told = message == receives[told].get();
      expect(message->done() == is_told, "a receive is {} when client {} has sent", is_told ? "open" : "done", told);
    }
    expect(numbers[told] == told, "client {} sent {}", told, numbers[told]);
    std::erase(open, receives[told].get());
  }
}

// The stamp of a message is from before it was sent, so it is later where it arrives.
void one_clock(Communicator& communicator) {
  if (communicator.size() == 1) return;
  const Neighbours neighbours(communicator);
  double latest = communicator.now();
  const auto look = [&] {
    const double now = communicator.now();
    expect(now >= latest, "the clock goes back by {} s", latest - now);
    latest = now;
    return now;
  };
  for (int i = 0; i < 20; ++i) {
    const double sent = look();
    double came = 0;
    const auto send = communicator.start_send(std::as_bytes(std::span(&sent, 1)), neighbours.right, on(kFirst));
    communicator.receive(std::as_writable_bytes(std::span(&came, 1)), neighbours.left, on(kFirst));
    const double now = look();
    expect(now >= came, "a message came {} s before it was sent", came - now);
    communicator.wait(*send);
  }
}

// With messages under way that must come to no harm.
void looking_up(Communicator& communicator) {
  const auto look = [&] {
    for (int i = 0; i < 1000; ++i) communicator.look_up();
  };
  look();
  if (communicator.size() == 1) return;
  const Neighbours neighbours(communicator);
  const auto sent = letter(communicator.rank(), neighbours.right, 3, 70'000);
  std::vector<std::byte> got(sent.size());
  const auto receive = communicator.start_receive(got, neighbours.left, on(kFirst));
  look();
  const auto send = communicator.start_send(sent, neighbours.right, on(kFirst));
  look();
  communicator.wait(*receive);
  look();
  communicator.wait(*send);
  expect(got == letter(neighbours.left, communicator.rank(), 3, sent.size()), "the message is wrong");
}

// ---------------------------------------------------------------------------------------------------------------------
// News. On some networks they come twice, so a check may meet those of the one before: they say which they are of, and
// all of one tag have the same size.

enum class Occasion : std::size_t { in_turn, first_u, first_v, many };

struct NewsHead {
  Occasion occasion{};
  std::size_t number = 0;
};

/// News of the first kind are short, those of the second long.
std::size_t news_bytes(Tag tag) { return tag == Tag::news_u ? sizeof(NewsHead) : sizeof(NewsHead) + 70'000; }

std::vector<std::byte> news(const NewsHead& head, Tag tag) {
  std::vector<std::byte> bytes = letter(0, 0, head.number, news_bytes(tag));
  std::memcpy(bytes.data(), &head, sizeof(head));
  return bytes;
}

NewsHead checked_head(const std::vector<std::byte>& bytes, Tag tag) {
  NewsHead head;
  std::memcpy(&head, bytes.data(), sizeof(head));
  expect(bytes == news(head, tag), "news {} are garbled", head.number);
  return head;
}

/// Returns the number of the first that are of this occasion.
std::size_t take_news(Communicator& communicator, std::size_t from, Tag tag, Occasion occasion) {
  std::vector<std::byte> bytes(news_bytes(tag));
  for (;;) {
    communicator.receive(bytes, from, on(tag));
    const NewsHead head = checked_head(bytes, tag);
    if (head.occasion == occasion) return head.number;
  }
}

void expect_open(Communicator& communicator, Pending& message) {
  Pending* const one = &message;
  expect(!message.done() && !communicator.wait_any({&one, 1}, communicator.now() + kMoment),
         "news are taken that nobody has asked for");
}

// A send of news is done when the other side has asked for them, not before.
void news_in_turn(Communicator& communicator) {
  if (communicator.size() == 1) return;
  const Neighbours neighbours(communicator);
  for (const Tag tag : {Tag::news_u, Tag::news_v}) {
    const auto sent = news({Occasion::in_turn, communicator.rank()}, tag);
    const auto send = communicator.start_send(sent, neighbours.right, on(tag));
    expect_open(communicator, *send);
    const auto go = communicator.start_send({}, neighbours.right, on(kFirst));
    communicator.receive({}, neighbours.left, on(kFirst));
    const std::size_t number = take_news(communicator, neighbours.left, tag, Occasion::in_turn);
    expect(number == neighbours.left, "client {} sent {}", neighbours.left, number);
    communicator.wait(*send);
    communicator.wait(*go);
  }
}

void news_in_a_group(Communicator& communicator) {
  Counts backwards(communicator.size());
  std::iota(backwards.rbegin(), backwards.rend(), std::size_t{0});
  news_in_turn(*make_group(communicator, backwards, 3));
}

// Those of one kind that nobody takes are not in the way of the other kind, nor of ordinary messages.
void news_of_two_kinds(Communicator& communicator) {
  if (communicator.size() == 1) return;
  const Neighbours neighbours(communicator);
  for (const Tag first : {Tag::news_u, Tag::news_v}) {
    const Tag second = first == Tag::news_u ? Tag::news_v : Tag::news_u;
    const Occasion occasion = first == Tag::news_u ? Occasion::first_u : Occasion::first_v;
    const auto sent_first = news({occasion, 1}, first);
    const auto sent_second = news({occasion, 2}, second);
    const auto first_send = communicator.start_send(sent_first, neighbours.right, on(first));
    const auto second_send = communicator.start_send(sent_second, neighbours.right, on(second));
    expect(take_news(communicator, neighbours.left, second, occasion) == 2, "news of the other kind came");
    communicator.wait(*second_send);
    expect_open(communicator, *first_send);
    // Nobody takes the first before all have seen that theirs are not taken.
    Collectives(communicator).barrier();
    expect(take_news(communicator, neighbours.left, first, occasion) == 1, "news of the other kind came");
    communicator.wait(*first_send);
  }
}

/// Short news to one client, of which few are under way at a time.
class ManyNews {
 public:
  static constexpr std::size_t kCount = 200;
  static constexpr std::size_t kWindow = 4;

  ManyNews(Communicator& communicator, std::size_t to) : communicator_(communicator), to_(to) {}

  void send_what_may_go() {
    for (Send& send : sends_) {
      if (send.message && !send.message->done()) continue;
      send.message.reset();
      if (next_ == kCount) continue;
      send.bytes = news({Occasion::many, next_++}, Tag::news_u);
      send.message = communicator_.start_send(send.bytes, to_, on(Tag::news_u));
    }
  }
  void add_to(std::vector<Pending*>& open) const {
    for (const Send& send : sends_) {
      if (send.message) open.push_back(send.message.get());
    }
  }

 private:
  struct Send {
    std::vector<std::byte> bytes;
    std::unique_ptr<Pending> message;
  };
  Communicator& communicator_;
  std::size_t to_;
  std::size_t next_ = 0;
  std::array<Send, kWindow> sends_;
};

/// Takes them, with more than one receive open.
class ManyReceives {
 public:
  ManyReceives(Communicator& communicator, std::size_t from) : communicator_(communicator), from_(from) {
    for (Receive& receive : receives_) post(receive);
  }

  void take_what_has_come() {
    for (Receive& receive : receives_) {
      if (!receive.message->done()) continue;
      look_at(checked_head(receive.bytes, Tag::news_u));
      post(receive);
    }
  }
  void add_to(std::vector<Pending*>& open) const {
    for (const Receive& receive : receives_) open.push_back(receive.message.get());
  }
  /// How many different ones there were.
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  struct Receive {
    std::vector<std::byte> bytes = std::vector<std::byte>(news_bytes(Tag::news_u));
    std::unique_ptr<Pending> message;
  };
  void post(Receive& receive) { receive.message = communicator_.start_receive(receive.bytes, from_, on(Tag::news_u)); }
  void look_at(const NewsHead& head) {
    if (head.occasion != Occasion::many) return;
    // When it was sent, all but kWindow of those before it had been taken: counted, or put into a buffer.
    expect(head.number <= count_ + ManyNews::kWindow + receives_.size(), "news {} come after {} others", head.number,
           count_);
    if (!seen_.at(head.number)) ++count_;
    seen_[head.number] = true;
  }

  Communicator& communicator_;
  std::size_t from_;
  std::array<Receive, 2> receives_;
  std::vector<bool> seen_ = std::vector<bool>(ManyNews::kCount);
  std::size_t count_ = 0;
};

// Everybody sends to the right and takes from the left, and waits for whatever comes first.
void many_news(Communicator& communicator) {
  if (communicator.size() == 1) return;
  const Neighbours neighbours(communicator);
  {
    ManyNews sends(communicator, neighbours.right);
    ManyReceives receives(communicator, neighbours.left);
    for (;;) {
      sends.send_what_may_go();
      receives.take_what_has_come();
      std::vector<Pending*> open;
      sends.add_to(open);
      if (open.empty() && receives.count() == ManyNews::kCount) break;
      receives.add_to(open);
      expect(communicator.wait_any(open, communicator.now() + communicator.timeout()), "{} news came, and no more",
             receives.count());
    }
  }
  // Receives that were left open must not take what somebody who is further ahead sends.
  Collectives(communicator).barrier();
}

// ---------------------------------------------------------------------------------------------------------------------
// Collectives

/// Value i of client k: of very different sizes, so that sums in another order have other last bits.
double value(std::size_t k, std::size_t i) {
  const auto x = static_cast<double>(17 * k + 3 * i + 1);
  return std::ldexp(std::sin(x), static_cast<int>((13 * k + 5 * i) % 50));
}

std::vector<double> values_of(std::size_t k, std::size_t count) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = value(k, i);
  return values;
}

/// Rounded once.
double sum_of_all(std::size_t clients, std::size_t i) {
  ExactSum sum;
  for (std::size_t k = 0; k < clients; ++k) sum.add(value(k, i));
  return sum.total();
}

bool same_bits(std::span<const double> a, std::span<const double> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

/// Ways to cut something into one part for each client.
std::vector<Counts> uneven(std::size_t clients) {
  std::vector<Counts> all;
  all.emplace_back(clients, 0);
  all.emplace_back(clients, 7);
  all.emplace_back(clients, 0).back() = 5;
  all.emplace_back(clients, 0).front() = 5;
  Counts& growing = all.emplace_back(clients);
  std::iota(growing.begin(), growing.end(), std::size_t{0});
  Counts& large = all.emplace_back(clients);
  for (std::size_t k = 0; k < clients; ++k) large[k] = k % 2 == 1 ? 0 : 20'000 + k;
  return all;
}

void for_all_routes(Communicator& communicator, const std::function<void(const Collectives&)>& body) {
  for (const Route route : kRoutes) body(Collectives(communicator, route, Payload::note));
}

void for_all_parts(Communicator& communicator, const std::function<void(const Collectives&, const Counts&)>& body) {
  for_all_routes(communicator, [&](const Collectives& clients) {
    for (const Counts& counts : uneven(clients.size())) body(clients, counts);
  });
}

struct Gathered {
  std::vector<double> begun;  ///< only the part of this client is there
  std::vector<double> whole;  ///< all are
};

Gathered gathered(const Counts& counts, std::size_t rank) {
  Gathered result;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const auto part = values_of(k, counts[k]);
    result.whole.insert(result.whole.end(), part.begin(), part.end());
    if (k == rank) {
      result.begun.insert(result.begun.end(), part.begin(), part.end());
    } else {
      result.begun.insert(result.begun.end(), counts[k], -1.0);
    }
  }
  return result;
}

void allgather(Communicator& communicator) {
  for_all_parts(communicator, [](const Collectives& clients, const Counts& counts) {
    auto [values, expected] = gathered(counts, clients.rank());
    clients.allgather(values, counts);
    expect(same_bits(values, expected), "allgather gives something else");
  });
}

void reduce_scatter(Communicator& communicator) {
  for_all_parts(communicator, [](const Collectives& clients, const Counts& counts) {
    const auto values = values_of(clients.rank(), sum_of(counts));
    std::vector<double> mine(counts[clients.rank()]);
    clients.reduce_scatter(values, counts, mine);
    std::size_t first = 0;
    for (std::size_t k = 0; k < clients.rank(); ++k) first += counts[k];
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const double expected = sum_of_all(clients.size(), first + i);
      expect(mine[i] == expected, "sum {} is {} rather than {}", i, mine[i], expected);
    }
  });
}

void allreduce(Communicator& communicator) {
  for_all_routes(communicator, [](const Collectives& clients) {
    for (const std::size_t count : {0, 1, 2, 3, 7, 1000, 50'003}) {
      auto values = values_of(clients.rank(), count);
      clients.allreduce(values);
      std::vector<double> expected(count);
      for (std::size_t i = 0; i < count; ++i) expected[i] = sum_of_all(clients.size(), i);
      expect(same_bits(values, expected), "allreduce of {} values gives something else", count);
    }
  });
}

void broadcast(Communicator& communicator) {
  for_all_routes(communicator, [](const Collectives& clients) {
    for (std::size_t root = 0; root < clients.size(); ++root) {
      for (const std::size_t size : {0, 1, 70'000}) {
        const auto expected = letter(root, 0, 5, size);
        auto data = clients.rank() == root ? expected : std::vector<std::byte>(size);
        clients.broadcast(data, root);
        expect(data == expected, "{} bytes from client {} are wrong", size, root);
      }
    }
  });
}

void gather(Communicator& communicator) {
  for_all_parts(communicator, [](const Collectives& clients, const Counts& counts) {
    for (std::size_t root = 0; root < clients.size(); ++root) {
      const auto expected = gathered(counts, root).whole;
      std::vector<double> whole(clients.rank() == root ? expected.size() : 0);
      clients.gather(values_of(clients.rank(), counts[clients.rank()]), counts, whole, root);
      if (clients.rank() == root) expect(same_bits(whole, expected), "client {} has something else", root);
    }
  });
}

void allgather_text(Communicator& communicator) {
  const auto text_of = [](std::size_t k, std::size_t factor) {
    return std::string(k * factor % 100'000, static_cast<char>('a' + k)) + (k % 2 == 0 ? "" : std::string("\n\0b", 3));
  };
  for_all_routes(communicator, [&](const Collectives& clients) {
    for (const std::size_t factor : {0, 1, 33'333}) {
      const auto texts = clients.allgather_text(text_of(clients.rank(), factor));
      expect(texts.size() == clients.size(), "{} texts", texts.size());
      for (std::size_t k = 0; k < clients.size(); ++k) {
        expect(texts[k] == text_of(k, factor), "the text of client {} is wrong", k);
      }
    }
  });
}

void allgather_numbers(Communicator& communicator) {
  for_all_routes(communicator, [](const Collectives& clients) {
    for (const std::size_t count : {0, 1, 3}) {
      const auto numbers = clients.allgather_numbers(values_of(clients.rank(), count));
      expect(same_bits(numbers, gathered(Counts(clients.size(), count), 0).whole), "{} numbers are wrong", count);
    }
  });
}

void barrier(Communicator& communicator) {
  for_all_routes(communicator, [](const Collectives& clients) {
    for (int i = 0; i < 50; ++i) clients.barrier();
  });
}

// ---------------------------------------------------------------------------------------------------------------------
// Groups

// A grid of as many columns as the largest divisor up to the square root; sums along rows and columns, and messages of
// the whole, all under way together.
void groups(Communicator& communicator) {
  const std::size_t rank = communicator.rank();
  const std::size_t size = communicator.size();
  std::size_t columns = 1;
  for (std::size_t d = 1; d * d <= size; ++d) {
    if (size % d == 0) columns = d;
  }
  Counts row;
  Counts column;
  for (std::size_t k = 0; k < size; ++k) {
    if (k / columns == rank / columns) row.push_back(k);
    if (k % columns == rank % columns) column.push_back(k);
  }
  const auto row_group = make_group(communicator, row, 1);
  const auto column_group = make_group(communicator, column, 2);
  expect(row_group->size() == columns && row_group->rank() == rank % columns, "the row is wrong");
  expect(column_group->size() == size / columns && column_group->rank() == rank / columns, "the column is wrong");

  const auto number = [](std::size_t k) { return 1 + static_cast<double>(k); };
  const auto check_sum = [&](double sum, const Counts& members) {
    double expected = 0;
    for (const std::size_t k : members) expected += number(k);
    expect(sum == expected, "a sum is {} rather than {}", sum, expected);
  };
  for (const Route route : kRoutes) {
    std::vector<double> whole(size, -1.0);
    whole[rank] = number(rank);
    std::vector<double> of_row(columns, -1.0);
    of_row[row_group->rank()] = number(rank);
    // Groups do not wait for each other: a row may be done while another is still busy with its column.
    double column_sum = number(rank);
    Collectives(*column_group, route).of(Payload::note).allreduce({&column_sum, 1});
    check_sum(column_sum, column);
    Collectives(*row_group, route).of(Payload::note).allgather(of_row, Counts(columns, 1));
    double row_sum = number(rank);
    Collectives(*row_group, route).of(Payload::note).allreduce({&row_sum, 1});
    check_sum(row_sum, row);
    Collectives(communicator, route).of(Payload::note).allgather(whole, Counts(size, 1));
    for (std::size_t k = 0; k < size; ++k) expect(whole[k] == number(k), "number {} is {}", k, whole[k]);
    for (std::size_t k = 0; k < columns; ++k) expect(of_row[k] == number(row[k]), "number {} of the row is wrong", k);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Failing together

/// What agree() ended with: "input: ..." or "other: ...", or nothing.
std::string end_of_agreement(const Collectives& clients, const std::function<void()>& body) {
  try {
    agree(clients, body);
  } catch (const InputError& error) {
    return std::string("input: ") + error.what();
  } catch (const std::runtime_error& error) {
    return std::string("other: ") + error.what();
  }
  return "";
}

void agreement(Communicator& communicator) {
  for_all_routes(communicator, [](const Collectives& clients) {
    const std::size_t rank = clients.rank();
    std::size_t runs = 0;
    expect(end_of_agreement(clients, [&] { ++runs; }).empty() && runs == 1, "it failed without a reason");

    for (std::size_t k = 0; k < clients.size(); ++k) {
      const auto one_fails = [&] {
        if (rank == k) throw InputError(fmt::format("file{}", k), "is empty", "give another");
      };
      const auto end = end_of_agreement(clients, one_fails);
      expect(end == fmt::format("input: file{}: is empty; give another", k), "one fails: {}", end);

      const auto all_from_here_fail = [&] {
        if (rank == k) throw std::logic_error(fmt::format("client {} is confused", k));
        if (rank > k) throw InputError("never", "seen");
      };
      const auto lowest = end_of_agreement(clients, all_from_here_fail);
      expect(lowest == fmt::format("other: client {} is confused", k), "several fail: {}", lowest);
    }
    const auto memory = end_of_agreement(clients, [&] {
      if (rank + 1 == clients.size()) throw std::bad_alloc();
    });
    expect(memory.starts_with("input: memory: "), "no memory: {}", memory);
    expect(end_of_agreement(clients, [] {}).empty(), "it still fails");
  });
}

// ---------------------------------------------------------------------------------------------------------------------
// Counting

std::uint64_t bytes_sent(Communicator& communicator, Route route,
                         const std::function<void(const Collectives&)>& collective) {
  CountingCommunicator counting(communicator);
  counting.set_phase(Phase::rounds);
  collective(Collectives(counting, route, Payload::note));
  const Traffic& traffic = counting.traffic();
  for (const Phase other : {Phase::setup, Phase::rebuilds, Phase::results}) {
    expect(traffic.bytes_sent[static_cast<std::size_t>(other)] == 0, "bytes in another phase");
  }
  const auto rounds = static_cast<std::size_t>(Phase::rounds);
  // What is sent is received somewhere.
  std::vector<double> balance = {static_cast<double>(traffic.bytes_sent[rounds]),
                                 static_cast<double>(traffic.bytes_received[rounds])};
  Collectives(communicator).of(Payload::note).allreduce(balance);
  expect(balance[0] == balance[1], "{} bytes sent but {} received", balance[0], balance[1]);
  expect(communicator.size() > 1 || traffic.messages_sent[rounds] == 0, "one client sends messages");
  return traffic.bytes_sent[rounds];
}

// The table in collectives.hpp.
void documented_bytes(Communicator& communicator) {
  const std::size_t c = communicator.size();
  const std::size_t rank = communicator.rank();
  const bool is_root = rank == 0;
  const auto check = [&](const char* what, std::uint64_t sent, std::uint64_t documented) {
    expect(sent == documented, "{}: {} bytes sent, documented are {}", what, sent, documented);
  };
  for (const Counts& counts : uneven(c)) {
    const std::uint64_t all = 8 * sum_of(counts);
    const std::uint64_t mine = 8 * counts[rank];
    const auto allgather_bytes = [&](std::uint64_t whole, std::uint64_t part, Route route) -> std::uint64_t {
      if (c == 1) return 0;
      if (route == Route::direct) return (c - 1) * part;
      return is_root ? (c - 1) * whole : part;
    };
    const auto scatter_bytes = [&](std::uint64_t whole, std::uint64_t part, Route route) -> std::uint64_t {
      return c == 1 ? 0 : route == Route::direct || is_root ? whole - part : whole;
    };
    for (const Route route : kRoutes) {
      std::vector<double> whole(sum_of(counts), 1.0);
      std::vector<double> part(counts[rank], 1.0);
      const auto sent = [&](const auto& collective) { return bytes_sent(communicator, route, collective); };
      check("allgather", sent([&](const Collectives& clients) { clients.allgather(whole, counts); }),
            allgather_bytes(all, mine, route));
      check("reduce_scatter", sent([&](const Collectives& clients) { clients.reduce_scatter(whole, counts, part); }),
            scatter_bytes(all, mine, route));
      const std::uint64_t even = 8 * (whole.size() / c + (rank < whole.size() % c ? 1 : 0));
      check("allreduce", sent([&](const Collectives& clients) { clients.allreduce(whole); }),
            allgather_bytes(all, even, route) + scatter_bytes(all, even, route));
      check("broadcast",
            sent([&](const Collectives& clients) { clients.broadcast(std::as_writable_bytes(std::span(whole)), 0); }),
            is_root ? (c - 1) * all : 0);
      check("gather", sent([&](const Collectives& clients) { clients.gather(part, counts, whole, 0); }),
            is_root ? 0 : mine);
      if (c > 1) {
        const bool is_star = route == Route::through_root;
        check("broadcast from client 1",
              sent([&](const Collectives& clients) { clients.broadcast(std::as_writable_bytes(std::span(whole)), 1); }),
              rank == 1            ? (is_star ? 1 : c - 1) * all
              : is_star && is_root ? (c - 2) * all
                                   : 0);
        check("gather at client 1", sent([&](const Collectives& clients) { clients.gather(part, counts, whole, 1); }),
              rank == 1            ? 0
              : is_star && is_root ? all - 8 * counts[1]
                                   : mine);
      }
      check("allgather_text", sent([&](const Collectives& clients) {
              expect(clients.allgather_text(std::string(counts[rank], 'x')).size() == c, "texts are missing");
            }),
            allgather_bytes(8 * c, 8, route) + allgather_bytes(all / 8, mine / 8, route));
      check("barrier", sent([&](const Collectives& clients) { clients.barrier(); }), allgather_bytes(c, 1, route));
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Secure sums

/// Summand i of a client; a multiple of a power of two, so that sums are exact as float64.
double summand(std::size_t client, std::size_t i) {
  const auto whole = static_cast<double>((client * 37 + i * 11) % 1001) - 500;
  return std::ldexp(whole, -10 - static_cast<int>(i % 7));
}

void expect_sums(SecureSums& sums, const FixedPoint& format, std::size_t count, double scale) {
  std::vector<double> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = scale * summand(sums.rank(), i);
  sums.add_up(Payload::sum, format, numbers);
  for (std::size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < sums.clients(); ++k) sum += scale * summand(k, i);
    expect(numbers[i] == sum, "sum {} of {} is {} where {} was expected", i, count, numbers[i], sum);
  }
}

void use_sums(SecureSums& sums) {
  const std::size_t c = sums.clients();
  const std::size_t rank = sums.rank();
  // None, few (client 0 adds), many (all add).
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, kFewWords * c, 50 * kFewWords * c + 3}) {
    expect_sums(sums, kShare, count, 1);
    if (count > 2000) continue;
    expect_sums(sums, kStatistic, count, std::ldexp(1, 200));
    expect_sums(sums, kStatistic, count, std::ldexp(1, -300));
    expect_sums(sums, kAnyNumber, count, std::ldexp(1, 1000));
    expect_sums(sums, kAnyNumber, count, std::ldexp(1, -1050));
  }
  std::vector<bool> flags(c + 2);
  flags[rank] = flags[c] = true;
  sums.any(Payload::note, flags, 1);
  for (std::size_t k = 0; k < flags.size(); ++k) expect(flags[k] == (k <= c), "flag {} is wrong", k);
  // Parts of odd sizes, one of them empty.
  std::vector<std::byte> whole;
  Range own{};
  for (std::size_t k = 0; k < c; ++k) {
    const std::vector<std::byte> part = letter(k, 0, 5, k == 1 ? 0 : 13 + 7 * k);
    if (k == rank) own = {whole.size(), whole.size() + part.size()};
    whole.insert(whole.end(), part.begin(), part.end());
  }
  std::vector<std::byte> got(whole.size());
  std::copy(whole.begin() + static_cast<std::ptrdiff_t>(own.first),
            whole.begin() + static_cast<std::ptrdiff_t>(own.last),
            got.begin() + static_cast<std::ptrdiff_t>(own.first));
  sums.gather(Payload::slice, got, own);
  expect(got == whole, "what was gathered is not what was given");
}

void secure_sums(Communicator& communicator) {
  SecureSums sums(make_peer_summing(communicator));
  use_sums(sums);
}

void served_sums(Communicator& communicator) {
  const std::size_t clients = communicator.size() - 1;
  if (clients == 0) return;
  if (communicator.rank() == clients) return serve_sums(communicator);
  const ServerLease lease(communicator);
  std::vector<std::size_t> members(clients);
  std::iota(members.begin(), members.end(), std::size_t{0});
  const std::unique_ptr<Communicator> group = make_group(communicator, members, 3);
  SecureSums sums(make_served_summing(communicator, *group));
  use_sums(sums);
}

}  // namespace

std::span<const Check> all_checks() {
  static constexpr std::array kChecks = {
      Check{"blocking", blocking},
      Check{"many_in_flight", many_in_flight},
      Check{"tags_and_order", tags_and_order},
      Check{"passing_time", passing_time},
      Check{"waiting_for_any", waiting_for_any},
      Check{"one_clock", one_clock},
      Check{"looking_up", looking_up},
      Check{"news_in_turn", news_in_turn},
      Check{"news_in_a_group", news_in_a_group},
      Check{"news_of_two_kinds", news_of_two_kinds},
      Check{"many_news", many_news},
      Check{"allgather", allgather},
      Check{"reduce_scatter", reduce_scatter},
      Check{"allreduce", allreduce},
      Check{"broadcast", broadcast},
      Check{"gather", gather},
      Check{"allgather_text", allgather_text},
      Check{"allgather_numbers", allgather_numbers},
      Check{"barrier", barrier},
      Check{"groups", groups},
      Check{"agreement", agreement},
      Check{"documented_bytes", documented_bytes},
      Check{"secure_sums", secure_sums},
      Check{"served_sums", served_sums},
  };
  return kChecks;
}

}  // namespace fedsinkhorn::test
