import ArgumentParser
import Cluster
import Commands
import EventLoop
import FerrySettings

/// The command `ferry health`.
struct HealthCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "health", abstract: "Check whether the service on this machine is alive.",
    discussion: """
      For the health checks of containers, which then need no other program. A service that listens on 0.0.0.0 or [::] is \
      checked on loopback. The exit status is 0 if the service replies with 200, and 1 if it does not; one line says why. \
      \(LocalService.help)
      """)

  struct ServiceAddressOptions: SettingOptions {
    @Option(\.listen) var listen: String?
    @Option(\.config) var config: String?
  }

  @OptionGroup var place: ServiceAddressOptions
  @Flag(help: "Check whether the service can do its work (/readyz), not only whether it is alive (/livez).")
  var ready = false
  @Option(help: "Seconds to wait for the reply, from 1 to 300.")
  var timeout = 3

  func validate() throws {
    guard (1...300).contains(timeout) else {
      throw ValidationError("timeout: '\(timeout)' is not a number of seconds between 1 and 300")
    }
  }

  func run() async throws {
    let address = try await Settings.listenAddress(place.values, local: .standard)
    let answer = try await HealthProbe.ask(
      host: Self.reachable(address), port: address.port, path: ready ? "/readyz" : "/livez",
      timeout: .seconds(timeout))
    try CommandOutput.write(Array("\(answer) (\(address))\n".utf8))
  }

  /// Returns a loopback address for a service that listens on all addresses.
  private static func reachable(_ address: ListenAddress) -> String {
    switch address.hosts.last ?? "" {
    case "0.0.0.0": "127.0.0.1"
    case "::", "0:0:0:0:0:0:0:0": "::1"
    case let host: host
    }
  }
}
