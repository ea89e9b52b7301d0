import Addresses
import JSON
import Testing

@testable import FerrySettings

/// Consistency checks of the declarations.
@Suite struct SettingsCatalogueTests {
  /// A text for each setting that differs from its default.
  static let samples = [
    "listen": "127.0.0.1:81", "data-directory": "/elsewhere",
    "destination-directory": "/no/media,/no/films", "destination-mode": "0600",
    "allow-network": "10.0.0.0/8 fd00::/8",
    "interface-class": "wwan*=cellular;eth1=expensive,constrained", "token-file": "/no/tokens",
    "tokens": "one,a two", "webhook-secret-file": "/no/secret", "secret-key-file": "/no/keys",
    "small-body-limit": "0", "maximum-body-size": "1", "maximum-ephemeral-bytes": "0",
    "maximum-transfers": "1000000", "transfer-loops": "64", "maximum-connections": "1",
    "maximum-authentication-attempts": "1000", "task-retention": "3153600000", "event-retention": "1",
    "delivery-retention": "2", "maximum-body-bytes": "3", "retention-interval": "86400",
    "webhook-schedule": "0,1.5",
    "discretionary-window": "22:00-06:00,12:00-13:00", "discretionary-maximum-load": "1.5",
    "ca-file": "/no/ca", "log-level": "trace", "new-database": "true", "config": "/no/config",
  ]

  @Test func `members are named as the properties`() {
    let labels = Mirror(reflecting: SettingsCatalogue.shared).children.compactMap(\.label)
    #expect(labels == SettingsCatalogue.all.map(\.member))
    #expect(Set(Self.samples.keys) == Set(SettingsCatalogue.all.map(\.name)))
  }

  @Test(arguments: [
    ("listen", "--listen", "FERRY_LISTEN", "listen"),
    ("data-directory", "--data-directory", "FERRY_DATA_DIRECTORY", "dataDirectory"),
    ("ca-file", "--ca-file", "FERRY_CA_FILE", "caFile"),
  ])
  func `name sets the rest`(_ name: String, _ option: String, _ variable: String, _ member: String) throws {
    let setting = try #require(SettingsCatalogue.named(name))
    #expect(setting.option == option && setting.variable == variable && setting.member == member)
  }

  /// The documented default is the actual one.
  @Test(arguments: SettingsCatalogue.all.map(\.name)) func `default equals its text`(_ name: String) throws {
    let setting = try #require(SettingsCatalogue.named(name))
    guard let text = setting.defaultText else { return }
    #expect("\(try setting.check(nil))" == "\(try setting.check(text))")
    #expect(setting.shownDefault.hasPrefix(text))
  }

  @Test(arguments: SettingsCatalogue.all.map(\.name)) func `help has whole sentences`(_ name: String) throws {
    let setting = try #require(SettingsCatalogue.named(name))
    #expect(setting.help.hasSuffix(".") && !setting.help.contains("\n") && !setting.help.contains("|"))
    #expect(setting.help.prefix(1) == setting.help.prefix(1).uppercased())
  }

  @Test func `integers outside the range are refused`() throws {
    for setting in SettingsCatalogue.all {
      guard case .integer(let range, let unit) = setting.form else { continue }
      #expect("\(try setting.check(String(range.lowerBound)))".contains(String(range.lowerBound)))
      #expect("\(try setting.check(String(range.upperBound)))".contains(String(range.upperBound)))
      var wrong = [String(range.lowerBound - 1), "", "many", "1.5", " 1"]
      if range.upperBound < .max { wrong.append(String(range.upperBound + 1)) }
      for text in wrong {
        let kind = unit.map { "number of \($0.rawValue)" } ?? "number"
        let bounds =
          range.upperBound == .max
          ? ", \(range.lowerBound) or more" : " between \(range.lowerBound) and \(range.upperBound)"
        let problem = "'\(text)' is not a \(kind)\(bounds)"
        #expect(throws: SettingFault(problem), "\(setting.name)") { try setting.check(text) }
      }
    }
  }

  @Test(
    arguments: [
      ("listen", "here"), ("listen", "127.0.0.1"), ("listen", "127.0.0.1:65536"), ("listen", "a.example:80"),
      ("allow-network", "10.0.0.1/8"), ("interface-class", "wwan0=fast"), ("discretionary-window", "22:00"),
      ("discretionary-maximum-load", "-1"), ("discretionary-maximum-load", "inf"), ("log-level", "loud"),
      ("new-database", "yes"), ("data-directory", ""), ("ca-file", ""),
    ])
  func `invalid values are refused`(_ name: String, _ text: String) throws {
    let setting = try #require(SettingsCatalogue.named(name))
    #expect(throws: SettingFault.self) { try setting.check(text) }
  }

  @Test(arguments: [
    ("127.0.0.1:8080", "127.0.0.1", 8080, true), ("localhost:0", "127.0.0.1", 0, true),
    ("[::1]:9", "::1", 9, true), ("0.0.0.0:1", "0.0.0.0", 1, false), ("[::]:80", "::", 80, false),
  ])
  func `listen address is parsed`(_ text: String, _ host: String, _ port: Int, _ isLoopback: Bool) throws {
    let address = try ListenAddress(text)
    #expect(address.hosts == [host] && address.port == port && address.isLoopback == isLoopback)
  }

  @Test func `address without a host means all addresses`() throws {
    let address = try ListenAddress(":8080")
    #expect(address.hosts == ["::", "0.0.0.0"] && address.port == 8080)
    #expect(!address.isLoopback && address.description == ":8080")
  }

  @Test(arguments: [
    ("10.0.0.0", 8), ("192.168.0.0", 16), ("192.168.7.0", 24), ("0.0.0.0", 0), ("fd00::", 16),
    ("2001:db8::", 32),
    ("2001:db8:0:0:0:0:0:0", 32), ("2001:db8:1:2:3::", 80), ("::", 0),
  ])
  func `network without a prefix length is refused`(_ text: String, _ prefix: Int) {
    let problem = "'\(text)' has no prefix length; write \(text)/\(prefix), or another length"
    let setting = SettingsCatalogue.shared.allowNetwork
    for list in [text, "127.0.0.1, \(text)"] {
      #expect(throws: SettingFault(problem)) { try setting.value(of: list) }
    }
    #expect(throws: Never.self) { try setting.value(of: "\(text)/\(prefix)") }
  }

  @Test(arguments: [
    ("10.0.0.5", "10.0.0.5/32"), ("10.0.0.0/32", "10.0.0.0/32"), ("::1", "::1/128"),
    ("2001:db8::1:0", "2001:db8::1:0/128"),
  ])
  func `single address is a network of one`(_ text: String, _ network: String) throws {
    #expect(try SettingsCatalogue.shared.allowNetwork.value(of: text) == [try #require(IPNetwork(network))])
  }

  @Test(arguments: [
    ("1099511627776", SettingFormat.Unit.bytes, "1099511627776 (1 TiB)"), ("1000", .bytes, "1000"),
    ("2592000", .seconds, "2592000 (30 days)"), ("7200", .seconds, "7200 (2 hours)"), ("61", .seconds, "61"),
  ])
  func `large numbers are readable`(_ text: String, _ unit: SettingFormat.Unit, _ readable: String) {
    #expect(SettingFormat.integer(0...Int.max, unit).readable(text) == readable)
  }
}
