import Foundation
import Glibc

extension FerryProcess {
  /// Returns when it has seen the networks of its namespace as they are now. It must know some class of interfaces.
  ///
  /// An address that is added last is the sign: until it is known to be this machine's, there is no way to it for who may
  /// not use all networks.
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
    throw Socket.Failure(operation: "the networks are not seen", errno: 0)
  }

  /// What to run it with for it to see a file of the system with other contents.
  package static func replacing(_ file: String, by text: String) throws -> [String] {
    let path = TemporaryDirectory.make("ferry-etc") + "/file"
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return ["unshare", "--mount", "sh", "-c", "mount --bind \(path) \(file) && exec \"$@\"", "sh"]
  }
}
