internal import ArgumentParser
internal import FerryClient
internal import FoundationEssentials

/// The options that name a service. A token is no option, because every user of the machine can see a command line.
struct ServerOptions: ParsableArguments {
  static let standard = "http://127.0.0.1:8080"

  @Option(help: ArgumentHelp("URL of the service. [FERRY_SERVER, or the current context]", valueName: "url"))
  var server: String?
  @Option(help: ArgumentHelp("Context of `ferry context` to use. [FERRY_CONTEXT]", valueName: "name"))
  var context: String?
  @Option(
    help: ArgumentHelp("File whose first line is the token. [FERRY_TOKEN]", valueName: "file"),
    completion: .file())
  var tokenFile: String?
  @Option(
    help: ArgumentHelp(
      "PEM file with the certificate authorities that verify the service.", valueName: "file"),
    completion: .file())
  var serverCAFile: String?

  /// Returns the address of the service that the user has named; `nil` if the user has named none.
  func address(
    _ environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws(CommandFailure) -> ServiceAddress? {
    let (url, contextToken) = try named(environment)
    guard let url else { return nil }
    var token = environment["FERRY_TOKEN"].flatMap { $0.isEmpty ? nil : $0 } ?? contextToken
    if let tokenFile { token = try Self.token(in: tokenFile) }
    do throws(ServiceAddress.Fault) { return try ServiceAddress(url, token: token) } catch {
      throw CommandFailure(.settings, error.description)
    }
  }

  /// Reads the option `--token-file`.
  static func token(in path: String) throws(CommandFailure) -> String {
    let text: String
    do throws(CommandFailure) { text = try InputFile.text(path) } catch {
      throw CommandFailure(.settings, "--token-file: \(error.description)")
    }
    guard let line = text.firstLine else {
      throw CommandFailure(.settings, "--token-file: \(path) has no line")
    }
    return line
  }

  /// The service that the user has named, or the one that listens on the default address.
  func connection() throws(CommandFailure) -> ServiceConnection {
    var address = try address()
    if address == nil {
      var standard = self
      standard.server = Self.standard
      address = try standard.address()
    }
    guard let address else { throw CommandFailure(.settings, "no service is named; use --server") }
    return ServiceConnection(address, certificateAuthorities: serverCAFile)
  }

  /// Returns the URL and the token of its context. The token of a context is never sent to another URL.
  private func named(_ environment: [String: String]) throws(CommandFailure) -> (url: String?, token: String?)
  {
    func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    if let server { return (server, nil) }
    if context == nil, let server = variable("FERRY_SERVER") { return (server, nil) }
    let contexts = try Contexts(path: Contexts.path(environment))
    guard let name = context ?? variable("FERRY_CONTEXT") ?? contexts.current else { return (nil, nil) }
    guard let entry = contexts.entries[name] else {
      throw CommandFailure(.settings, "no context is called '\(name)'; see `ferry context ls`")
    }
    return (entry.server, entry.token)
  }
}
