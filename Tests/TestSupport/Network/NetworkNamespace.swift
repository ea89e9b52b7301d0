import Foundation
import Glibc

/// A network namespace for a test, with its own interfaces and routes (network_namespaces(7)).
///
/// The namespace has no name. A helper process, which ends with this process, owns the namespace, so nothing remains
/// of it. Without root it comes with a user namespace (user_namespaces(7)). Programs can then run in it, but threads
/// can enter it only under `unshare -Urn`.
package final class NetworkNamespace: Sendable {
  package let keeper: Int32
  private let process: ChildProcess
  /// Polls for this process. A closed pipe would be no signal, because other programs inherit its ends.
  private static let keeping = "echo ready; while [ -d /proc/\(getpid()) ]; do sleep 0.2; done"
  private static let isRoot = getuid() == 0

  /// Whether this machine can create namespaces.
  package static let isAvailable = (try? NetworkNamespace()) != nil
  /// Whether `inside` works.
  package static var isOpenToThreads: Bool { isRoot && isAvailable }

  /// Creates a namespace with `lo` up.
  package init() throws {
    let output = Pipe()
    process = try ChildProcess(
      "/usr/bin/unshare", [Self.isRoot ? "-n" : "-Urn", "/bin/sh", "-c", Self.keeping], output: .pipe(output),
      error: .nothing)
    keeper = process.processIdentifier
    guard output.fileHandleForReading.availableData.starts(with: Data("ready".utf8)) else {
      throw Socket.Failure(operation: "unshare", errno: 0)
    }
    try ip("link set lo up")
  }

  deinit {
    process.send(SIGKILL)
    process.waitUntilExit()
  }

  /// Returns the command that runs a program in the namespace.
  package func command(_ arguments: [String]) -> [String] {
    let spaces = Self.isRoot ? ["-n"] : ["-U", "--preserve-credentials", "-n"]
    return ["/usr/bin/nsenter", "-t", "\(keeper)"] + spaces + ["--"] + arguments
  }

  /// Runs a program in the namespace and waits for its end.
  /// - Returns: Its output.
  @discardableResult package func run(_ arguments: [String]) throws -> String {
    let command = command(arguments)
    let result = try ChildProcess.run(command[0], Array(command.dropFirst()))
    guard result.status == 0 else {
      throw Socket.Failure(
        operation: arguments.joined(separator: " ") + ": " + result.output, errno: result.status)
    }
    return result.output
  }

  /// Runs the ip command (iproute2).
  /// - Parameter arguments: The arguments, separated by spaces, such as `link set eth0 down`.
  @discardableResult package func ip(_ arguments: String) throws -> String {
    try run(["ip"] + arguments.split(separator: " ").map(String.init))
  }

  /// Connects two new interfaces by a cable (veth(4)), sets both up, and waits for the carrier. An interface has no
  /// carrier while the other is down.
  /// - Parameters:
  ///   - address: The address with its prefix length.
  ///   - other: The namespace of the other end, which may be this one.
  package func connect(
    _ name: String, _ address: String, to other: NetworkNamespace, _ peer: String, _ peerAddress: String
  ) throws {
    try ip("link add \(name) type veth peer name \(peer) netns \(other.keeper)")
    // nodad: an IPv6 address is usable immediately.
    try ip("address add \(address) dev \(name)\(address.contains(":") ? " nodad" : "")")
    try other.ip("address add \(peerAddress) dev \(peer)\(peerAddress.contains(":") ? " nodad" : "")")
    try ip("link set \(name) up")
    try other.ip("link set \(peer) up")
    for _ in 0..<500 {
      if try ip("link show \(name)").contains("state UP") { return }
      usleep(10_000)
    }
    throw Socket.Failure(operation: "\(name) has no carrier", errno: 0)
  }
}
