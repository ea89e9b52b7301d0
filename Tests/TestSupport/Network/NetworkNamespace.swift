import Foundation
import Glibc

/// A network of its own for tests: interfaces and routes that nobody else has (network_namespaces(7)).
///
/// It has no name and hangs on a process that ends with this one, however that ends: nothing is left behind. Where the
/// tests are not run by root a user namespace comes with it (user_namespaces(7)): programs can be run in it, but threads
/// cannot enter; inside `unshare -Urn` they can.
package final class NetworkNamespace: Sendable {
  package let keeper: Int32
  private let process: ChildProcess
  /// A pipe would not tell: other programs inherit its ends.
  private static let keeping = "echo ready; while [ -d /proc/\(getpid()) ]; do sleep 0.2; done"
  private static let isRoot = getuid() == 0

  /// Whether namespaces can be made here.
  package static let isAvailable = (try? NetworkNamespace()) != nil
  /// Whether `inside` works.
  package static var isOpenToThreads: Bool { isRoot && isAvailable }

  /// With `lo` up.
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

  /// What to run for that program to be in it.
  package func command(_ arguments: [String]) -> [String] {
    let spaces = Self.isRoot ? ["-n"] : ["-U", "--preserve-credentials", "-n"]
    return ["/usr/bin/nsenter", "-t", "\(keeper)"] + spaces + ["--"] + arguments
  }

  /// Runs a program in it to its end.
  /// - Returns: what it printed.
  @discardableResult package func run(_ arguments: [String]) throws -> String {
    let command = command(arguments)
    let result = try ChildProcess.run(command[0], Array(command.dropFirst()))
    guard result.status == 0 else {
      throw Socket.Failure(
        operation: arguments.joined(separator: " ") + ": " + result.output, errno: result.status)
    }
    return result.output
  }

  /// The ip command (iproute2).
  /// - Parameter arguments: separated by blanks, such as `link set eth0 down`.
  @discardableResult package func ip(_ arguments: String) throws -> String {
    try run(["ip"] + arguments.split(separator: " ").map(String.init))
  }

  /// Lays a cable (veth(4)) between interfaces that are made for it, both up, and waits until it carries. The one has no
  /// carrier while the other is down.
  /// - Parameters:
  ///   - address: with its prefix length.
  ///   - other: may be this one.
  package func connect(
    _ name: String, _ address: String, to other: NetworkNamespace, _ peer: String, _ peerAddress: String
  ) throws {
    try ip("link add \(name) type veth peer name \(peer) netns \(other.keeper)")
    // nodad: an IPv6 address may be used at once.
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
