import EventLoop
import FerrySettings
import Glibc
import HTTPServer
import Ledger
import TransferService

/// An error of the machine or its files that keeps a command from running. It is one line that names the setting and the remedy. Unlike
/// `SettingsError`, it may be gone at the next try.
struct StartError: Error, CustomStringConvertible {
  let description: String

  init<Value>(_ setting: KeyPath<SettingsCatalogue, Setting<Value>>, _ problem: String) {
    self.init(of: SettingsCatalogue.shared[keyPath: setting].name, problem)
  }

  /// Makes an error about something other than a setting.
  /// - Parameter name: the name of the subject.
  init(of name: String, _ problem: String) { description = "\(name): \(problem)" }

  /// The number of descriptors that an idle service needs, plus a reserve.
  static let leastDescriptors = 64

  /// Checks that there are enough descriptors.
  /// - Parameter limit: the limit of this process's descriptors after it was raised.
  static func check(descriptors limit: Int) throws {
    guard limit < leastDescriptors else { return }
    throw StartError(
      of: "descriptors",
      """
      this process may open \(limit) files and sockets, but needs at least \(leastDescriptors); raise the limit with \
      `ulimit -Hn`, or with LimitNOFILE= in the systemd unit
      """)
  }

  init(_ failure: HTTPServer.Failure) {
    let hint =
      switch failure.code {
      case EADDRINUSE: "; stop the program that listens there (`ss -ltnp` names it), or use another port"
      case EADDRNOTAVAIL:
        "; no interface of this machine has that address (`ip address` lists its addresses)"
      case EACCES: "; ports below 1024 require root or CAP_NET_BIND_SERVICE; use another port"
      default: ""
      }
    self.init(\.listen, failure.message + hint)
  }
}

extension StartError {
  /// Runs `body`, which reads the database, and turns its error into one line.
  static func describingLedgerErrors<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
      return try await body()
    } catch {
      throw StartError(
        \.dataDirectory,
        "the stored data cannot be read: \(reason(error)); check the disk, or restore a backup")
    }
  }

  private static func reason(_ error: any Error) -> String {
    switch error {
    case ServiceError.storeFull, LedgerError.full: "the disk is full"
    case ServiceError.storeUnavailable(let reason), LedgerError.unavailable(let reason): reason
    case ServiceError.storedDataUnreadable(let row), LedgerError.unreadable(let row): row.description
    default: "\(error)"
    }
  }
}
