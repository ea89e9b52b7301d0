import EventLoop
import FerrySettings
import Glibc
import HTTPServer
import Ledger
import TransferService

/// Why the machine, or what lies on it, does not let a command do its work: one line that names the setting it is about, and says what
/// to do. Unlike `SettingsError` it may not hold any more at the next try.
struct StartError: Error, CustomStringConvertible {
  let description: String

  init<Value>(_ setting: KeyPath<SettingsCatalogue, Setting<Value>>, _ problem: String) {
    self.init(of: SettingsCatalogue.shared[keyPath: setting].name, problem)
  }

  /// - Parameter name: of what is no setting.
  init(of name: String, _ problem: String) { description = "\(name): \(problem)" }

  /// So many descriptors are open before anybody has asked for anything, and some more.
  static let leastDescriptors = 64

  /// - Parameter limit: on this process's descriptors, raised as far as it may be.
  static func check(descriptors limit: Int) throws {
    guard limit < leastDescriptors else { return }
    throw StartError(
      of: "descriptors",
      """
      this process may open \(limit) files and sockets, and needs \(leastDescriptors) or more; raise the limit with \
      `ulimit -Hn`, or LimitNOFILE= of a unit of systemd
      """)
  }

  init(_ failure: HTTPServer.Failure) {
    let hint =
      switch failure.code {
      case EADDRINUSE: "; end what listens there (`ss -ltnp` tells), or take another port"
      case EADDRNOTAVAIL:
        "; no interface of this machine has that address (`ip address` lists those that it has)"
      case EACCES: "; ports below 1024 are for root, or for who has CAP_NET_BIND_SERVICE: take another port"
      default: ""
      }
    self.init(\.listen, failure.message + hint)
  }
}

extension StartError {
  /// Does what reads all that is stored, and says in one line why that cannot be done.
  static func ofStore<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
      return try await body()
    } catch {
      throw StartError(
        \.dataDirectory,
        "what is stored cannot be read: \(reason(error)); see the disk, or put a backup back")
    }
  }

  private static func reason(_ error: any Error) -> String {
    switch error {
    case ServiceError.storeFull, StoreError.full: "the disk is full"
    case ServiceError.storeUnavailable(let reason), StoreError.unavailable(let reason): reason
    case ServiceError.storedDataUnreadable(let row), StoreError.unreadable(let row): row.description
    default: "\(error)"
    }
  }
}
