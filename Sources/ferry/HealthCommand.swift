import ArgumentParser
import Cluster
import EventLoop
import FerrySettings

/// `ferry health`.
struct HealthCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "health", abstract: "Ask the service on this machine whether it lives.",
    discussion: """
      For the health checks of containers, which need no other program then. 0.0.0.0 and [::] are asked on loopback. \
      The exit status is 0 if the service answers 200, and 1 if it does not; one line says which. \(LocalService.help)
      """)

  struct Place: SettingOptions {
    @Option(\.listen) var listen: String?
    @Option(\.config) var config: String?
  }

  @OptionGroup var place: Place
  @Flag(help: "Ask whether it can do its work (/readyz) and not only whether it lives (/livez).")
  var ready = false
  @Option(help: "Seconds to wait for the answer. [3]")
  var timeout = 3

  func validate() throws {
    guard (1...300).contains(timeout) else {
      throw ValidationError("timeout: '\(timeout)' is not a number between 1 and 300")
    }
  }

  func run() async throws {
    let address = try await Settings.listenAddress(place.values, local: .standard)
    let answer = try await HealthProbe.ask(
      host: Self.reachable(address), port: address.port, path: ready ? "/readyz" : "/livez",
      timeout: .seconds(timeout))
    StandardOutput.write(Array("\(answer) (\(address))\n".utf8))
  }

  /// A service that listens on all addresses is asked on loopback.
  private static func reachable(_ address: ListenAddress) -> String {
    switch address.hosts.last ?? "" {
    case "0.0.0.0": "127.0.0.1"
    case "::", "0:0:0:0:0:0:0:0": "::1"
    case let host: host
    }
  }
}
