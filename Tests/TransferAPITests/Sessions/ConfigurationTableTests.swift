import JSON
import TestSupport
import Testing

/// Each property of a session's configuration: its default, accepted values and refused values.
@Suite(.serialized, .blocking, .sharing) struct ConfigurationTableTests {
  private let place: InProcessAPI

  init() throws { place = try .ofSuite() }

  struct Property: Sendable, CustomTestStringConvertible {
    let name: String
    /// The JSON in the reply to an empty configuration.
    let initial: String
    /// Accepted JSON, and the JSON that the reply shows.
    let accepted: [(String, String)]
    /// Refused JSON, and the JSON pointer of the fault relative to the property.
    let refused: [(String, String)]
    var testDescription: String { name }

    init(
      _ name: String, _ initial: String, _ accepted: [String], pairs: [(String, String)] = [],
      refused: [String] = [], below: [(String, String)] = []
    ) {
      self.name = name
      self.initial = initial
      self.accepted = accepted.map { ($0, $0) } + pairs
      self.refused = refused.map { ($0, "") } + below
    }

    static func flag(_ name: String, _ initial: Bool) -> Property {
      Property(name, "\(initial)", ["\(!initial)"], refused: ["1", #""true""#, "{}"])
    }

    static func choice(_ name: String, _ all: [String], initial: String) -> Property {
      Property(
        name, #""\#(initial)""#, all.map { #""\#($0)""# },
        refused: [#""""#, #""\#(initial.uppercased())x""#, "1"])
    }

    static func seconds(_ name: String, _ initial: String, least: String, tooLittle: String) -> Property {
      Property(
        name, initial, ["1.5", least, "31536000"], refused: [tooLittle, "-1", "31536001", #""1""#, "true"])
    }
  }

  static let properties: [Property] = [
    .choice(
      "requestCachePolicy",
      [
        "useProtocolCachePolicy", "reloadIgnoringLocalCacheData", "reloadIgnoringLocalAndRemoteCacheData",
        "returnCacheDataElseLoad", "returnCacheDataDontLoad", "reloadRevalidatingCacheData",
      ], initial: "useProtocolCachePolicy"),
    .seconds("timeoutIntervalForRequest", "60", least: "0.001", tooLittle: "0"),
    .seconds("timeoutIntervalForResource", "604800", least: "0.001", tooLittle: "0"),
    Property(
      "httpMaximumConnectionsPerHost", "6", ["1", "4096"], refused: ["0", "-1", "4097", "1.5", #""6""#]),
    .flag("httpShouldUsePipelining", false), .flag("httpShouldSetCookies", true),
    .choice(
      "httpCookieAcceptPolicy", ["always", "never", "onlyFromMainDocumentDomain"],
      initial: "onlyFromMainDocumentDomain"),
    Property(
      "httpAdditionalHeaders", "{}", [#"{"X-A":"1","Accept":"*/*"}"#],
      pairs: [(#"{"Authorization":"Bearer x"}"#, #"{"Authorization":"(redacted)"}"#)],
      refused: [#""X-A: 1""#, "[]"],
      below: [
        (#"{"X-A":1}"#, "/X-A"), (#"{"Host":"a.test"}"#, "/Host"), (#"{"X A":"1"}"#, "/X A"),
        (#"{"X-A":"1\r\nB: 2"}"#, "/X-A"),
      ]),
    Property(
      "secretHeaderFields", "[]", [#"["X-A","x-b"]"#], refused: [#""X-A""#, "[1]"],
      below: [(#"["X A"]"#, "/0"), (#"["X-A",""]"#, "/1")]),
    .choice(
      "tlsMinimumSupportedProtocolVersion", ["TLSv1.0", "TLSv1.1", "TLSv1.2", "TLSv1.3"], initial: "TLSv1.2"),
    .choice("tlsMaximumSupportedProtocolVersion", ["TLSv1.2", "TLSv1.3"], initial: "TLSv1.3"),
    Property("tlsAdditionalRootCertificates", "null", [], refused: ["1", #""no PEM""#]),
    Property(
      "tlsPinnedPublicKeys", "{}", [#"{"a.test":["sha256/\#(String(repeating: "A", count: 43))="]}"#],
      refused: ["[]", #""x""#]),
    Property(
      "proxies", #"{"noProxy":[]}"#,
      [
        #"{"http":"http://p.test:3128","https":"http://p.test:8080","socks5":"socks5://p.test:1080","noProxy":["a.test","10.0.0.0/8"]}"#
      ],
      pairs: [(#"{"http":"http://u:p@p.test:1"}"#, #"{"http":"http://p.test:1","noProxy":[]}"#)],
      refused: [#""http://p.test""#],
      below: [
        (#"{"http":"ftp://p.test"}"#, "/http"), (#"{"https":1}"#, "/https"),
        (#"{"socks5":"http://p.test"}"#, "/socks5"), (#"{"noProxy":["a/b/c"]}"#, "/noProxy/0"),
        (#"{"noProxy":"a"}"#, "/noProxy"), (#"{"ftp":"http://p.test"}"#, "/ftp"),
      ]),
    Property(
      "urlCache", #"{"memoryCapacity":4194304,"diskCapacity":20971520}"#,
      [#"{"memoryCapacity":1,"diskCapacity":0}"#, #"{"memoryCapacity":0,"diskCapacity":5}"#, "null"],
      pairs: [(#"{"memoryCapacity":9}"#, #"{"memoryCapacity":9,"diskCapacity":20971520}"#)],
      refused: ["true", "7"],
      below: [
        (#"{"memoryCapacity":-1}"#, "/memoryCapacity"), (#"{"diskCapacity":"1"}"#, "/diskCapacity"),
        (#"{"capacity":1}"#, "/capacity"),
      ]),
    .flag("urlCredentialStorage", true), .flag("waitsForConnectivity", false),
    .flag("allowsCellularAccess", true), .flag("allowsExpensiveNetworkAccess", true),
    .flag("allowsConstrainedNetworkAccess", true), .flag("allowsInsecureRedirects", false),
    .flag("isDiscretionary", false),
    .flag("sessionSendsLaunchEvents", true),
    .choice(
      "networkServiceType",
      [
        "default", "video", "background", "voice", "responsiveData", "avStreaming", "responsiveAV",
        "callSignaling",
      ], initial: "default"),
    Property("requiresDNSSECValidation", "false", ["false"], refused: ["true", "1", #""no""#]),
    Property(
      "retry", "null", [#"{"maximumAttempts":3,"backoff":2,"statuses":[429]}"#], refused: ["true"],
      below: [(#"{"maximumAttempts":0}"#, "/maximumAttempts"), (#"{"backoff":"1"}"#, "/backoff")]),
    Property(
      "maximumBytesPerSecond", "null", ["1", "1000000000000"], refused: ["0", "-5", "1.5", "true", #""1""#]),
    .seconds("bodyRetention", "86400", least: "1", tooLittle: "0.5"),
  ]

  private func create(_ configuration: String) throws -> HTTPReply {
    try place.call("POST", "/v1/sessions", #"{"configuration":\#(configuration)}"#)
  }

  @Test func `table lists every property`() throws {
    let names = try create("{}").json["configuration"]?.members?.map(\.name) ?? []
    #expect(Set(names) == Set(Self.properties.map(\.name)) && names.count == Self.properties.count)
  }

  @Test(arguments: properties) func `property has a default and limits`(_ property: Property) throws {
    let name = property.name
    #expect(try create("{}").json["configuration"]?[name]?.text == property.initial)
    let null = try create(#"{"\#(name)":null}"#)
    switch name {
    case "urlCache": break  // among the accepted ones
    case "proxies": #expect(null.json["configuration"]?[name]?.text == property.initial)
    case _ where property.initial == "null": #expect(null.json["configuration"]?[name] == .null)
    default: #expect(null.status == 400 && null.text.contains("/configuration/\(name)"))
    }
    for (value, shown) in property.accepted {
      let reply = try create(#"{"\#(name)":\#(value)}"#)
      #expect(reply.status == 201, "\(value): \(reply.text)")
      #expect(reply.json["configuration"]?[name]?.text == shown, "\(value)")
      let again = try place.call("GET", "/v1/sessions/\(reply.json["id"]?.string ?? "")")
      #expect(again.json["configuration"]?[name]?.text == shown, "\(value)")
    }
    for (value, place) in property.refused {
      let reply = try create(#"{"\#(name)":\#(value)}"#)
      let pointers = reply.pointers
      #expect(
        reply.status == 400 && pointers.contains("/configuration/\(name)\(place)"), "\(value): \(reply.text)")
    }
  }

  @Test func `properties are checked together`() throws {
    let reply = try create(
      #"{"tlsMinimumSupportedProtocolVersion":"TLSv1.3","tlsMaximumSupportedProtocolVersion":"TLSv1.2"}"#)
    #expect(reply.status == 400 && reply.text.contains("/configuration/tlsMinimumSupportedProtocolVersion"))
    let all = try create(#"{"isDiscretionary":1,"bodyRetention":0,"unknown":1,"retry":1}"#)
    let pointers = all.pointers
    #expect(
      Set(pointers)
        == Set(["isDiscretionary", "bodyRetention", "unknown", "retry"].map { "/configuration/" + $0 }))
    let authority = try CertificateKit.shared().authority
    let rooted = try create(#"{"tlsAdditionalRootCertificates":\#(JSONValue.string(authority).text)}"#)
    #expect(rooted.status == 201)
    #expect(rooted.json["configuration"]?["tlsAdditionalRootCertificates"]?.string == authority)
  }
}
