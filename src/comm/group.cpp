#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "comm/collectives.hpp"
#include "comm/forwarding.hpp"

namespace fedsinkhorn {
namespace {

// Every group has kTags tags of its own. With 7 groups, all stay far below 32767, the smallest limit MPI permits.
constexpr int kMaxNumber = 7;

class Group final : public ForwardingCommunicator {
 public:
  Group(Communicator& parent, std::vector<std::size_t> members, int number)
      : ForwardingCommunicator(parent), members_(std::move(members)), first_tag_(number * kTags) {
    if (number < 1 || number > kMaxNumber) throw std::logic_error("a group's number is from 1 to 7");
    const auto mine = std::find(members_.begin(), members_.end(), parent.rank());
    if (mine == members_.end()) throw std::logic_error("a client makes only groups it is in");
    rank_ = static_cast<std::size_t>(mine - members_.begin());
  }

  [[nodiscard]] std::size_t rank() const override { return rank_; }
  [[nodiscard]] std::size_t size() const override { return members_.size(); }

  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to,
                                                    Label label) override {
    return inner().start_send(data, members_.at(to), shifted(label));
  }
  [[nodiscard]] std::unique_ptr<Pending> start_receive(std::span<std::byte> data, std::size_t from,
                                                       Label label) override {
    return inner().start_receive(data, members_.at(from), shifted(label));
  }
  void distrust(std::size_t client, const std::string& sent) override { inner().distrust(members_.at(client), sent); }

 private:
  [[nodiscard]] Label shifted(Label label) const {
    return {static_cast<Tag>(first_tag_ + static_cast<int>(label.tag)), label.kind, label.form};
  }

  std::vector<std::size_t> members_;
  int first_tag_;
  std::size_t rank_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> make_group(Communicator& parent, std::vector<std::size_t> members, int number) {
  return std::make_unique<Group>(parent, std::move(members), number);
}

std::unique_ptr<Communicator> without_last(Communicator& everyone) {
  std::vector<std::size_t> members(everyone.size() - 1);
  std::iota(members.begin(), members.end(), std::size_t{0});
  return make_group(everyone, std::move(members), 3);
}

}  // namespace fedsinkhorn
