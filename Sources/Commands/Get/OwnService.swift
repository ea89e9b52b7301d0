internal import EventLoop
internal import FerryClient
internal import FerrySettings
internal import FoundationEssentials
internal import Glibc
internal import JSON
internal import Processes

/// The service that `ferry get` starts if the user names none. Only this user has its token.
struct OwnService {
  private static let startPatience = Duration.seconds(60)
  private static let stopPatience = Duration.seconds(30)
  private static let interval = Duration.milliseconds(10)

  /// The address of the service with its token, which a later command reads from a file of the state.
  struct Place: Equatable {
    let url: String
    let token: String

    init(url: String, token: String) {
      self.url = url
      self.token = token
    }

    init?(line: String) {
      let parts = line.split(separator: " ").map(String.init)
      guard parts.count == 2 else { return nil }
      self.init(url: parts[0], token: parts[1])
    }

    var line: String { "\(url) \(token)" }
  }

  let connection: ServiceConnection
  private let state: GetState
  /// Whether its process exists.
  var isRunning: Bool { !ProcessRegistration.owners(in: state.dataDirectory).isEmpty }

  /// Starts the service of a state, or finds the one that an earlier command has left.
  /// - Parameter options: further options of `ferry serve`.
  static func start(for state: GetState, options: [String]) async throws(CommandFailure) -> OwnService {
    if let connection = await existing(state) { return OwnService(connection: connection, state: state) }
    let token = newToken()
    var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("FERRY_") }
    environment[SettingsCatalogue.shared.tokens.variable] = token
    let start = size(of: state.serviceLog)
    let arguments =
      ["ferry", "serve", "--listen", "127.0.0.1:0", "--data-directory", state.dataDirectory] + options
    let pid: Int32
    do {
      pid = try DetachedProcess.start(
        DetachedProcess.thisExecutable(), arguments, environment: environment, log: state.serviceLog)
    } catch {
      throw CommandFailure(.unreachable, "a service cannot be started: \(error)")
    }
    let url = try await address(of: pid, in: state.serviceLog, after: start)
    let place = Place(url: url, token: token)
    try PrivateFile.write(Array("\(place.line)\n".utf8), to: state.serviceFile)
    return OwnService(connection: try connect(place), state: state)
  }

  /// Asks the service to end, and waits. Running tasks continue when it starts again.
  func stop() async {
    await connection.close()
    let deadline = ContinuousClock.now + Self.stopPatience
    for owner in ProcessRegistration.owners(in: state.dataDirectory) {
      guard let process = owner.process, process.send(.terminate) == 0 else { continue }
      while !process.hasEnded, .now < deadline { try? await Task.sleep(for: Self.interval) }
      _ = DetachedProcess.reap(owner.pid)
    }
    unlink(state.serviceFile)
  }

  private static func connect(_ place: Place) throws(CommandFailure) -> ServiceConnection {
    do throws(ServiceAddress.Fault) {
      return ServiceConnection(try ServiceAddress(place.url, token: place.token))
    } catch {
      throw CommandFailure(.unreachable, error.description)
    }
  }

  /// Returns the service that a killed command has left, if it still replies.
  private static func existing(_ state: GetState) async -> ServiceConnection? {
    guard let place = PrivateFile.line(state.serviceFile).flatMap({ Place(line: $0) }),
      !ProcessRegistration.owners(in: state.dataDirectory).isEmpty, let connection = try? connect(place)
    else { return nil }
    var request = ServiceRequest("GET", "/v1/sessions/ses_shared")
    request.timeout = .seconds(10)
    if (try? await connection.send(request)) != nil { return connection }
    await connection.close()
    return nil
  }

  /// Waits for the log line `listening`, and returns its URL.
  private static func address(of pid: Int32, in log: String, after start: Int) async throws(CommandFailure)
    -> String
  {
    let deadline = ContinuousClock.now + startPatience
    while true {
      let hasEnded = DetachedProcess.reap(pid) != nil
      let lines = text(of: log, after: start).split(separator: "\n")
      let entries = lines.compactMap { try? JSONParser.parse(Array($0.utf8)) }
      if let address = entries.first(where: { $0["message"]?.string == "listening" })?["address"]?.string {
        return "http://\(address)"
      }
      guard !hasEnded, .now < deadline else {
        let line = lines.last { !$0.hasPrefix("{") } ?? lines.last ?? "no message"
        let cause: CommandFailure.Cause = hasEnded ? .settings : .unreachable
        throw CommandFailure(cause, "the service does not start: \(line) (see \(log))")
      }
      try? await Task.sleep(for: interval)
    }
  }

  private static func size(of path: String) -> Int {
    var information = stat()
    return stat(path, &information) == 0 ? Int(information.st_size) : 0
  }

  /// Returns the text after a place; all of it if the file was renamed meanwhile.
  private static func text(of path: String, after start: Int) -> String {
    guard let data = try? Data(contentsOf: URL(filePath: path)) else { return "" }
    return String(decoding: data.count >= start ? data.dropFirst(start) : data, as: UTF8.self)
  }

  private static func newToken() -> String {
    (0..<4).map { _ in String(UInt64.random(in: 0 ... .max), radix: 36) }.joined()
  }
}
