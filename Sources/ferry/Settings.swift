import ArgumentParser
import FoundationEssentials
import JSON
import Logging
import TransferAPI
import TransferEngine
import TransferModel

/// Why the service cannot start as it was asked to; names the setting at fault.
struct SettingsError: Error, CustomStringConvertible {
  let description: String
  init(_ name: String, _ problem: String) { description = "\(name): \(problem)" }
}

/// The service's configuration: options, then environment, then file, then defaults.
struct Settings {
  var host = "127.0.0.1"
  var port = 8080
  var dataDirectory = "ferry-data"
  var allowedNetworks: [IPNetwork] = []
  var interfacePolicy = InterfacePolicy()
  var tokens: [BearerToken] = []
  var tokenFile: String?
  var webhookSecretFile: String?
  var secretKeyFile: String?
  var smallBodyLimit = 32 * 1024
  var maximumBodySize = 1 << 40
  var maximumTransfers = 4096
  var maximumEphemeralBytes = 1 << 30
  var workers = 1
  var maximumConnections = 10_000
  var maximumAuthenticationAttempts = 10
  var certificateAuthorityFile: String?
  var retention = Retention()
  /// Seconds from one look at what is old to the next.
  var retentionInterval = 60
  var logLevel = Logger.Level.info
  var discretion = DiscretionaryPolicy()
  /// A new database is wanted where there is none, whatever lies beside it.
  var acceptsNewDatabase = false

  private static let names = [
    "listen", "data-directory", "allow-network", "interface-class", "token-file", "webhook-secret-file",
    "secret-key-file",
    "small-body-limit",
    "maximum-body-size", "maximum-ephemeral-bytes", "maximum-transfers", "workers", "maximum-connections",
    "maximum-authentication-attempts", "task-retention", "event-retention", "delivery-retention",
    "maximum-body-bytes", "retention-interval", "ca-file", "log-level", "discretionary-window",
    "discretionary-maximum-load",
    "new-database",
  ]
  /// What the worker's process has to know as well.
  private static let workerNames = [
    "data-directory", "allow-network", "interface-class", "secret-key-file", "small-body-limit",
    "maximum-body-size", "maximum-transfers", "maximum-authentication-attempts", "ca-file", "log-level",
    "discretionary-window", "discretionary-maximum-load",
  ]
  /// The same settings as options of `ferry worker`.
  private(set) var workerArguments: [String] = []

  /// With what is wrong told as the command line tells it.
  /// - Parameter isWorker: only what the worker's process has to know counts.
  static func checked(
    _ options: [String: String], file: String?, isWorker: Bool = false
  ) throws -> Settings {
    do {
      return try Settings(options: options, file: file, isWorker: isWorker)
    } catch let error as SettingsError {
      throw ValidationError(error.description)
    }
  }

  init(
    options: [String: String], file: String?, isWorker: Bool = false,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws {
    var values = try (file ?? environment["FERRY_CONFIG"]).map(Self.read(file:)) ?? [:]
    for name in Self.names {
      let variable = "FERRY_" + name.uppercased().replacing("-", with: "_")
      if let value = environment[variable] { values[name] = value }
      if let value = options[name] { values[name] = value }
    }
    if isWorker { values = values.filter { Self.workerNames.contains($0.key) } }
    try apply(values)
    workerArguments = Self.workerNames.flatMap { name in values[name].map { ["--\(name)", $0] } ?? [] }
  }

  /// Where the service listens; the other settings are not looked at, and their files not read.
  static func listenAddress(_ options: [String: String], file: String?) throws -> (host: String, port: Int) {
    let environment = ProcessInfo.processInfo.environment
    let values = try (file ?? environment["FERRY_CONFIG"]).map(Self.read(file:)) ?? [:]
    let text = options["listen"] ?? environment["FERRY_LISTEN"] ?? values["listen"]
    return try text.map(Self.address) ?? ("127.0.0.1", 8080)
  }

  private mutating func apply(_ values: [String: String]) throws {
    if let value = values["listen"] { (host, port) = try Self.address(value) }
    if let value = values["data-directory"] { dataDirectory = value }
    for text in values["allow-network"]?.split(whereSeparator: { ", ".contains($0) }) ?? [] {
      guard let network = IPNetwork(String(text)) else {
        throw SettingsError("allow-network", "'\(text)' is not a network in CIDR notation, like 10.0.0.0/8")
      }
      allowedNetworks.append(network)
    }
    let classes =
      values["interface-class"]?.split(whereSeparator: { "; ".contains($0) }).map(String.init) ?? []
    do throws(InterfacePolicy.Fault) {
      interfacePolicy = try InterfacePolicy(parsing: classes)
    } catch {
      throw SettingsError("interface-class", error.message)
    }
    acceptsNewDatabase = try Self.flag("new-database", values)
    tokenFile = values["token-file"]
    if let tokenFile { tokens = try Self.tokens(tokenFile) }
    webhookSecretFile = values["webhook-secret-file"]
    secretKeyFile = values["secret-key-file"]
    smallBodyLimit = try Self.number("small-body-limit", values, 0...1_048_576) ?? smallBodyLimit
    maximumBodySize = try Self.number("maximum-body-size", values, 1...Int.max) ?? maximumBodySize
    maximumEphemeralBytes =
      try Self.number("maximum-ephemeral-bytes", values, 0...Int.max) ?? maximumEphemeralBytes
    maximumTransfers = try Self.number("maximum-transfers", values, 1...1_000_000) ?? maximumTransfers
    workers = try Self.number("workers", values, 1...64) ?? workers
    maximumConnections = try Self.number("maximum-connections", values, 1...1_000_000) ?? maximumConnections
    maximumAuthenticationAttempts =
      try Self.number("maximum-authentication-attempts", values, 1...1000) ?? maximumAuthenticationAttempts
    try applyRetention(values)
    certificateAuthorityFile = values["ca-file"]
    discretion = try Self.discretion(values)
    if let value = values["log-level"] {
      guard let level = Logger.Level(rawValue: value) else {
        throw SettingsError("log-level", "'\(value)' is not a level")
      }
      logLevel = level
    }
    if tokens.isEmpty, !Self.isLoopback(host) {
      throw SettingsError(
        "listen", "without a token (--token-file) only a loopback address is allowed, not \(host)")
    }
  }

  private static func discretion(_ values: [String: String]) throws -> DiscretionaryPolicy {
    var policy = DiscretionaryPolicy()
    for text in values["discretionary-window"]?.split(whereSeparator: { ", ".contains($0) }) ?? [] {
      do throws(DailyWindow.Fault) {
        policy.windows.append(try DailyWindow(String(text)))
      } catch {
        throw SettingsError("discretionary-window", error.message)
      }
    }
    if let text = values["discretionary-maximum-load"] {
      guard let load = Double(text), load >= 0, load.isFinite else {
        throw SettingsError("discretionary-maximum-load", "'\(text)' is not a load average")
      }
      policy.maximumLoad = load
    }
    return policy
  }

  private mutating func applyRetention(_ values: [String: String]) throws {
    func seconds(_ name: String) throws -> Double? {
      try Self.number(name, values, 1...3_153_600_000).map(Double.init)
    }
    retention.tasks = try seconds("task-retention") ?? retention.tasks
    retention.events = try seconds("event-retention") ?? retention.events
    retention.deliveries = try seconds("delivery-retention") ?? retention.deliveries
    retention.maximumBodyBytes = try Self.number("maximum-body-bytes", values, 1...Int.max).map(Int64.init)
    retentionInterval = try Self.number("retention-interval", values, 1...86_400) ?? retentionInterval
  }

  static func isLoopback(_ host: String) -> Bool {
    switch IPAddress(host) {
    case .v4(let address): address >> 24 == 127
    case .v6(0, 1): true
    default: false
    }
  }

  private static func address(_ text: String) throws -> (String, Int) {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (0...65_535).contains(port)
    else { throw SettingsError("listen", "'\(text)' is not an address and a port, like 127.0.0.1:8080") }
    let host = text[..<colon].filter { $0 != "[" && $0 != "]" }
    let name = host == "localhost" ? "127.0.0.1" : host
    guard IPAddress(name) != nil else { throw SettingsError("listen", "'\(host)' is not an IP address") }
    return (name, port)
  }

  private static func number(_ name: String, _ values: [String: String], _ range: ClosedRange<Int>) throws
    -> Int?
  {
    guard let text = values[name] else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw SettingsError(
        name, "'\(text)' is not a number between \(range.lowerBound) and \(range.upperBound)")
    }
    return number
  }

  private static func flag(_ name: String, _ values: [String: String]) throws -> Bool {
    guard let text = values[name] else { return false }
    guard let flag = Bool(text) else { throw SettingsError(name, "'\(text)' is not true or false") }
    return flag
  }

  static func tokens(_ path: String) throws -> [BearerToken] {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      throw SettingsError("token-file", "\(path) cannot be read")
    }
    var tokens: [BearerToken] = []
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .enumerated()
    where !line.allSatisfy(\.isWhitespace) {
      guard let token = BearerToken(line: line) else {
        throw SettingsError(
          "token-file", "line \(index + 1) of \(path) is not a token, or a tenant and a token")
      }
      guard tokens.allSatisfy({ $0.text != token.text || $0.tenant == token.tenant }) else {
        throw SettingsError("token-file", "line \(index + 1) of \(path) gives a token to another tenant")
      }
      tokens.append(token)
    }
    guard !tokens.isEmpty else { throw SettingsError("token-file", "\(path) has no token in it") }
    return tokens
  }

  /// A JSON object of option names, as they are on the command line or in camelCase.
  private static func read(file path: String) throws -> [String: String] {
    guard let data = try? Data(contentsOf: URL(filePath: path)) else {
      throw SettingsError("config", "\(path) cannot be read")
    }
    guard let members = try? JSONParser.parse(Array(data)).members else {
      throw SettingsError("config", "\(path) is not a JSON object")
    }
    var values: [String: String] = [:]
    for member in members {
      let name = member.name.map { $0.isUppercase ? "-" + $0.lowercased() : String($0) }.joined()
      guard names.contains(name) else { throw SettingsError("config", "unknown option '\(member.name)'") }
      switch member.value {
      case .string(let text): values[name] = text
      case .integer(let number): values[name] = String(number)
      case .bool(let flag): values[name] = String(flag)
      case .array(let items):
        let separator = name == "interface-class" ? " " : ","
        values[name] = items.compactMap(\.string).joined(separator: separator)
      default:
        throw SettingsError(
          "config", "'\(member.name)' must be a string, a number, true or false, or an array of strings")
      }
    }
    return values
  }
}
