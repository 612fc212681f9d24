#include "topology/slice_group.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace fedsinkhorn {
namespace {

constexpr std::size_t kRoot = 0;

/// Slices that are added up are summands; potentials and results are called so either way.
Payload as_summand(Payload kind) { return kind == Payload::slice ? Payload::sum : kind; }

}  // namespace

SliceGroup::SliceGroup(Collectives clients, std::vector<std::size_t> sizes)
    : clients_(std::move(clients)), sizes_(std::move(sizes)) {
  for (const std::size_t size : sizes_) {
    firsts_.push_back(whole_);
    whole_ += size;
  }
}

std::vector<std::size_t> SliceGroup::counts(std::size_t targets, std::size_t extra) const {
  std::vector<std::size_t> result;
  for (const std::size_t size : sizes_) result.push_back(targets * size + extra);
  return result;
}

void SliceGroup::gather(Payload kind, std::size_t targets, const double* own, double* whole, Norm norm,
                        std::span<Note> notes) {
  if (members() == 1) {
    std::copy_n(own, targets * whole_, whole);
    return;
  }
  const bool notes_apart = members() > kManyClients && !notes.empty();
  if (notes_apart) share_notes(norm, notes);
  const std::span<Note> with = notes_apart ? std::span<Note>() : notes;
  const std::size_t extra = numbers_in(with);
  const std::size_t me = clients_.rank();
  wire_.resize(targets * whole_ + members() * extra);
  double* mine = wire_.data() + targets * firsts_[me] + me * extra;
  std::copy_n(own, targets * sizes_[me], mine);
  write_notes(with, mine + targets * sizes_[me]);
  clients_.of(kind).allgather(wire_, counts(targets, extra));

  const double* from = wire_.data();
  NoteReader reader(norm, with);
  for (std::size_t member = 0; member < members(); ++member) {
    for (std::size_t k = 0; k < targets; ++k) {
      std::copy_n(from, sizes_[member], whole + k * whole_ + firsts_[member]);
      from += sizes_[member];
    }
    from = reader.take(from_peer(clients_, member), from);
  }
}

void SliceGroup::by_member(std::size_t targets, const double* whole) {
  wire_.resize(targets * whole_);
  double* to = wire_.data();
  for (std::size_t member = 0; member < members(); ++member) {
    for (std::size_t k = 0; k < targets; ++k) {
      to = std::copy_n(whole + k * whole_ + firsts_[member], sizes_[member], to);
    }
  }
}

void SliceGroup::sum(Payload kind, std::size_t targets, const double* whole, double* own) {
  if (members() == 1) {
    std::copy_n(whole, targets * whole_, own);
    return;
  }
  if (targets == 1) {
    clients_.of(as_summand(kind)).reduce_scatter({whole, whole_}, sizes_, {own, own_size()});
    return;
  }
  by_member(targets, whole);
  clients_.of(as_summand(kind)).reduce_scatter(wire_, counts(targets, 0), {own, targets * own_size()});
}

std::vector<double> SliceGroup::summands(Payload kind, std::size_t targets, const double* whole) {
  by_member(targets, whole);
  const std::size_t me = clients_.rank();
  const std::size_t own = targets * own_size();
  std::vector<double> result(members() * own);
  Communicator& communicator = clients_.communicator();
  const Label label{Tag::slice, as_summand(kind)};
  std::vector<std::unique_ptr<Pending>> messages;
  for (std::size_t member = 0; member < members(); ++member) {
    const std::span<const double> to{wire_.data() + targets * firsts_[member], targets * sizes_[member]};
    const std::span<double> from{result.data() + member * own, own};
    if (member == me) {
      std::copy(to.begin(), to.end(), from.begin());
      continue;
    }
    if (!from.empty()) {
      messages.push_back(communicator.start_receive(std::as_writable_bytes(from), member, label));
    }
    if (!to.empty()) messages.push_back(communicator.start_send(std::as_bytes(to), member, label));
  }
  for (const auto& message : messages) communicator.wait(*message);
  return result;
}

void SliceGroup::share_notes(Norm norm, std::span<Note> notes) const {
  if (members() == 1 || notes.empty()) return;
  std::vector<double> mine(numbers_in(notes));
  write_notes(notes, mine.data());
  const bool many = members() > kManyClients;
  const bool reads_all = !many || clients_.rank() == kRoot;
  std::vector<double> all;
  if (many) {
    all.resize(reads_all ? members() * mine.size() : 0);
    clients_.of(Payload::note).gather(mine, std::vector<std::size_t>(members(), mine.size()), all, kRoot);
  } else {
    all = clients_.of(Payload::note).allgather_numbers(mine);
  }
  NoteReader reader(norm, notes);
  const double* from = all.data();
  for (std::size_t member = 0; reads_all && member < members(); ++member) {
    from = reader.take(from_peer(clients_, member), from);
  }
  if (!many) return;
  // The root combines them for all: c notes instead of c^2.
  write_notes(notes, mine.data());
  clients_.of(Payload::note).broadcast(std::as_writable_bytes(std::span(mine)), kRoot);
  NoteReader(norm, notes).take(from_peer(clients_, kRoot), mine.data());
}

std::vector<std::size_t> sizes_of(std::span<const Range> slices) {
  std::vector<std::size_t> sizes;
  for (const Range& slice : slices) sizes.push_back(slice.size());
  return sizes;
}

std::vector<std::size_t> sizes_of(std::span<const Range> slices, std::span<const std::size_t> members) {
  std::vector<std::size_t> sizes;
  for (const std::size_t member : members) sizes.push_back(slices[member].size());
  return sizes;
}

}  // namespace fedsinkhorn
