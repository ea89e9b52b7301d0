import FoundationEssentials
import JSON
import Logging
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
  var tokens: [String] = []
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
  var logLevel = Logger.Level.info

  private static let names = [
    "listen", "data-directory", "allow-network", "interface-class", "token-file", "webhook-secret-file",
    "secret-key-file",
    "small-body-limit",
    "maximum-body-size", "maximum-ephemeral-bytes", "maximum-transfers", "workers", "maximum-connections",
    "maximum-authentication-attempts", "ca-file", "log-level",
  ]

  init(
    options: [String: String], networks: [String], interfaces: [String] = [], file: String?,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws {
    var values = try (file ?? environment["FERRY_CONFIG"]).map(Self.read(file:)) ?? [:]
    for name in Self.names {
      let variable = "FERRY_" + name.uppercased().replacing("-", with: "_")
      if let value = environment[variable] { values[name] = value }
      if let value = options[name] { values[name] = value }
    }
    if !networks.isEmpty { values["allow-network"] = networks.joined(separator: ",") }
    if !interfaces.isEmpty { values["interface-class"] = interfaces.joined(separator: " ") }
    try apply(values)
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
    if let path = values["token-file"] { tokens = try Self.tokens(path) }
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
    certificateAuthorityFile = values["ca-file"]
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

  private static func isLoopback(_ host: String) -> Bool {
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

  private static func tokens(_ path: String) throws -> [String] {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      throw SettingsError("token-file", "\(path) cannot be read")
    }
    let tokens = text.split(whereSeparator: \.isNewline).map { $0.trimmingBlanks }.filter { !$0.isEmpty }
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
      case .array(let items):
        let separator = name == "interface-class" ? " " : ","
        values[name] = items.compactMap(\.string).joined(separator: separator)
      default:
        throw SettingsError("config", "'\(member.name)' must be a string, a number or an array of strings")
      }
    }
    return values
  }
}
