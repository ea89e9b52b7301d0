import Foundation
import Glibc

extension FerryProcess {
  /// Waits until the service has noticed the current networks of its namespace. The service needs at least one
  /// configured class of interfaces.
  ///
  /// The function adds an address last. Until the service knows that this address is local, tasks with restricted
  /// networks have no route to it.
  package func seeNetworks() throws {
    guard let namespace else { return }
    let address = "10.77.\(Int.random(in: 0...255)).\(Int.random(in: 1...254))"
    try namespace.ip("address add \(address)/32 dev lo")
    let switches = ["Cellular", "ExpensiveNetwork", "ConstrainedNetwork"].map {
      #""allows\#($0)Access":false"#
    }
    let session = try session("{\(switches.joined(separator: ","))}")
    for _ in 0..<500 {
      if try run("http://\(address):1/", session: session).errorCode == -1004 { return }
      usleep(20_000)
    }
    throw Socket.Failure(operation: "Ferry did not see the networks in time", errno: 0)
  }

  /// Returns the wrapper in which a system file has other contents.
  package static func replacing(_ file: String, by text: String) throws -> [String] {
    let path = TemporaryDirectory.make("ferry-etc") + "/file"
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return ["unshare", "--mount", "sh", "-c", "mount --bind \(path) \(file) && exec \"$@\"", "sh"]
  }
}
