import EventLoop
import Glibc
import Synchronization

extension NetworkNamespace {
  private final class Outcome<T: Sendable>: Sendable {
    let value = Mutex<Result<T, any Error>?>(nil)
  }

  /// Runs `body` on a temporary thread in the namespace. Sockets that `body` opens stay in the namespace.
  package func inside<T: Sendable>(_ body: @escaping @Sendable () throws -> T) throws -> T {
    let (keeper, outcome, gate) = (keeper, Outcome<T>(), Gate())
    POSIXThread.spawn(name: "test-netns") {
      let result = Result {
        try Self.enter(keeper)
        return try body()
      }
      outcome.value.withLock { $0 = result }
      gate.open()
    }
    gate.wait()
    guard let result = outcome.value.withLock({ $0 }) else {
      throw Socket.Failure(operation: "a thread in a namespace", errno: 0)
    }
    return try result.get()
  }

  private typealias SetNamespace = @convention(c) (Int32, Int32) -> Int32
  /// setns(2), which Swift's Glibc module lacks.
  private static let setNamespace = dlsym(nil, "setns").map { unsafeBitCast($0, to: SetNamespace.self) }
  private static let network: Int32 = 0x4000_0000  // CLONE_NEWNET

  private static func enter(_ keeper: Int32) throws {
    let descriptor = open("/proc/\(keeper)/ns/net", O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    guard descriptor >= 0, let setNamespace, setNamespace(descriptor, network) == 0 else {
      throw Socket.Failure(operation: "setns", errno: errno)
    }
  }
}
