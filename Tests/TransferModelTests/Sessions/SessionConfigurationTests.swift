import HTTPFields
import JSON
import Testing

@testable import TransferModel

@Suite struct SessionConfigurationTests {
  private func read(_ text: String) throws -> (SessionConfiguration, [String]) {
    let violations = Violations()
    var reader = ObjectReader(try JSONParser.parse(Array(text.utf8)), at: "/c", violations)
    let configuration = SessionConfiguration(validating: &reader)
    return (configuration, violations.all.map(\.pointer))
  }

  @Test func `empty object is the default`() throws {
    let (configuration, pointers) = try read("{}")
    #expect(configuration == SessionConfiguration())
    #expect(pointers.isEmpty)
    #expect(configuration.timeoutIntervalForRequest == 60)
    #expect(configuration.timeoutIntervalForResource == 604_800)
    #expect(configuration.httpMaximumConnectionsPerHost == 6)
    #expect(configuration.tlsMinimumSupportedProtocolVersion == .v12)
    #expect(configuration.tlsMaximumSupportedProtocolVersion == .v13)
    #expect(configuration.maximumBytesPerSecond == nil)
    #expect(configuration.bodyRetention == 86_400)
    #expect(configuration.requestCachePolicy == .useProtocolCachePolicy)
    #expect(configuration.httpShouldSetCookies)
    #expect(configuration.httpCookieAcceptPolicy == .onlyFromMainDocumentDomain)
    #expect(configuration.urlCache == CacheCapacities(memoryCapacity: 4 << 20, diskCapacity: 20 << 20))
    #expect(!configuration.waitsForConnectivity && !configuration.isDiscretionary)
    #expect(
      configuration.networkAccess == NetworkAccess() && configuration.networkAccess.allowsCellularAccess)
    #expect(configuration.sessionSendsLaunchEvents && configuration.retry == nil)
  }

  @Test func `every property is read`() throws {
    let (configuration, pointers) = try read(
      #"""
      {"timeoutIntervalForRequest":1.5,"timeoutIntervalForResource":20,"httpMaximumConnectionsPerHost":2,
       "httpShouldUsePipelining":true,"httpAdditionalHeaders":{"X-A":"1"},
       "tlsMinimumSupportedProtocolVersion":"TLSv1.0",
       "tlsMaximumSupportedProtocolVersion":"TLSv1.2","maximumBytesPerSecond":1000,"bodyRetention":60,
       "requestCachePolicy":"returnCacheDataElseLoad","httpShouldSetCookies":false,
       "httpCookieAcceptPolicy":"always","urlCache":{"memoryCapacity":1,"diskCapacity":2},
       "waitsForConnectivity":true,"allowsCellularAccess":false,"allowsExpensiveNetworkAccess":false,
       "allowsConstrainedNetworkAccess":false,"isDiscretionary":true,"sessionSendsLaunchEvents":false,
       "allowsInsecureRedirects":true,
       "retry":{"maximumAttempts":3,"backoff":0.5}}
      """#)
    var expected = SessionConfiguration()
    expected.timeoutIntervalForRequest = 1.5
    expected.timeoutIntervalForResource = 20
    expected.httpMaximumConnectionsPerHost = 2
    expected.httpShouldUsePipelining = true
    expected.httpAdditionalHeaders = HTTPHeaders([.init(name: "X-A", value: "1")])
    expected.tlsMinimumSupportedProtocolVersion = .v10
    expected.tlsMaximumSupportedProtocolVersion = .v12
    expected.maximumBytesPerSecond = 1000
    expected.bodyRetention = 60
    expected.requestCachePolicy = .returnCacheDataElseLoad
    expected.httpShouldSetCookies = false
    expected.httpCookieAcceptPolicy = .always
    expected.urlCache = CacheCapacities(memoryCapacity: 1, diskCapacity: 2)
    expected.waitsForConnectivity = true
    expected.networkAccess.allowsCellularAccess = false
    expected.networkAccess.allowsExpensiveNetworkAccess = false
    expected.networkAccess.allowsConstrainedNetworkAccess = false
    expected.isDiscretionary = true
    expected.allowsInsecureRedirects = true
    expected.sessionSendsLaunchEvents = false
    expected.retry = RetryConfiguration()
    expected.retry?.maximumAttempts = 3
    expected.retry?.backoff = 0.5
    #expect(pointers.isEmpty)
    #expect(configuration == expected)
  }

  @Test func `written configuration is read again`() throws {
    var configuration = SessionConfiguration()
    configuration.timeoutIntervalForRequest = 0.25
    configuration.maximumBytesPerSecond = 77
    configuration.tlsMaximumSupportedProtocolVersion = .v12
    configuration.httpAdditionalHeaders.append("X-A", "1")
    configuration.urlCache = .none
    configuration.retry = RetryConfiguration()
    configuration.networkAccess.allowsExpensiveNetworkAccess = false
    let (again, pointers) = try read(String(decoding: configuration.json, as: UTF8.self))
    #expect(pointers.isEmpty)
    #expect(again == configuration)
  }

  @Test(
    arguments: [
      ("{}", .v12, .v13), (#"{"tlsMaximumSupportedProtocolVersion":"TLSv1.1"}"#, .v11, .v11),
      (#"{"tlsMaximumSupportedProtocolVersion":"TLSv1.2"}"#, .v12, .v12),
      (#"{"tlsMinimumSupportedProtocolVersion":"TLSv1.3"}"#, .v13, .v13),
      (#"{"tlsMinimumSupportedProtocolVersion":"TLSv1.0"}"#, .v10, .v13),
    ] as [(String, TLSVersion, TLSVersion)])
  func `TLS versions stay in order`(_ text: String, _ minimum: TLSVersion, _ maximum: TLSVersion) throws {
    let (configuration, pointers) = try read(text)
    #expect(pointers.isEmpty)
    #expect(configuration.tlsMinimumSupportedProtocolVersion == minimum)
    #expect(configuration.tlsMaximumSupportedProtocolVersion == maximum)
  }

  @Test(arguments: [
    ("[]", ""), (#"{"timeoutIntervalForRequest":0}"#, "/timeoutIntervalForRequest"),
    (#"{"timeoutIntervalForRequest":"1"}"#, "/timeoutIntervalForRequest"),
    (#"{"timeoutIntervalForResource":31536001}"#, "/timeoutIntervalForResource"),
    (#"{"httpMaximumConnectionsPerHost":0}"#, "/httpMaximumConnectionsPerHost"),
    (#"{"httpMaximumConnectionsPerHost":4097}"#, "/httpMaximumConnectionsPerHost"),
    (#"{"httpMaximumConnectionsPerHost":1.5}"#, "/httpMaximumConnectionsPerHost"),
    (#"{"httpShouldUsePipelining":1}"#, "/httpShouldUsePipelining"),
    (#"{"httpAdditionalHeaders":[]}"#, "/httpAdditionalHeaders"),
    (#"{"httpAdditionalHeaders":{"Host":"x"}}"#, "/httpAdditionalHeaders/Host"),
    (#"{"tlsMinimumSupportedProtocolVersion":"TLSv1.4"}"#, "/tlsMinimumSupportedProtocolVersion"),
    (
      #"{"tlsMinimumSupportedProtocolVersion":"TLSv1.3","tlsMaximumSupportedProtocolVersion":"TLSv1.2"}"#,
      "/tlsMinimumSupportedProtocolVersion"
    ),
    (#"{"maximumBytesPerSecond":0}"#, "/maximumBytesPerSecond"),
    (#"{"bodyRetention":0.5}"#, "/bodyRetention"),
    (#"{"named":"x"}"#, "/named"),
    (#"{"requestCachePolicy":"reload"}"#, "/requestCachePolicy"),
    (#"{"httpShouldSetCookies":0}"#, "/httpShouldSetCookies"), (#"{"proxies":[]}"#, "/proxies"),
    (#"{"httpCookieAcceptPolicy":"some"}"#, "/httpCookieAcceptPolicy"),
    (#"{"urlCache":true}"#, "/urlCache"), (#"{"urlCache":{"diskCapacity":-1}}"#, "/urlCache/diskCapacity"),
    (#"{"urlCache":{"memoryCapacity":1.5}}"#, "/urlCache/memoryCapacity"),
    (#"{"urlCache":{"path":"x"}}"#, "/urlCache/path"),
    (#"{"waitsForConnectivity":"yes"}"#, "/waitsForConnectivity"),
    (#"{"allowsCellularAccess":1}"#, "/allowsCellularAccess"), (#"{"retry":1}"#, "/retry"),
    (#"{"retry":{"maximumAttempts":0}}"#, "/retry/maximumAttempts"),
    (#"{"retry":{"backoff":0}}"#, "/retry/backoff"),
    (#"{"sessionSendsLaunchEvents":1}"#, "/sessionSendsLaunchEvents"),
    (#"{"isDiscretionary":null}"#, "/isDiscretionary"),
    (#"{"waitsForConnectivity":null}"#, "/waitsForConnectivity"),
    (#"{"httpAdditionalHeaders":null}"#, "/httpAdditionalHeaders"),
    (#"{"tlsPinnedPublicKeys":null}"#, "/tlsPinnedPublicKeys"),
    (#"{"requestCachePolicy":null}"#, "/requestCachePolicy"), (#"{"bodyRetention":null}"#, "/bodyRetention"),
    (#"{"urlCache":{"diskCapacity":null}}"#, "/urlCache/diskCapacity"),
    (#"{"retry":{"backoff":null}}"#, "/retry/backoff"),
    (#"{"proxies":{"noProxy":null}}"#, "/proxies/noProxy"),
    (#"{"unknown":null}"#, "/unknown"),
  ])
  func `invalid property is reported by its JSON pointer`(_ text: String, _ pointer: String) throws {
    #expect(try read(text).1 == ["/c" + pointer])
  }

  @Test(arguments: [
    #"{"requestCachePolicy":"useProtocolCachePolicy","httpShouldSetCookies":true}"#,
    #"{"waitsForConnectivity":false}"#,
    #"{"proxies":null,"retry":null,"urlCache":null,"maximumBytesPerSecond":null}"#,
    #"{"tlsAdditionalRootCertificates":null,"retry":{"maximumAttempts":null}}"#,
    #"{"proxies":{"http":null,"https":null,"socks5":null}}"#,
    #"{"urlCredentialStorage":true,"isDiscretionary":false}"#,
  ])
  func `defaults and nulls are valid`(_ text: String) throws { #expect(try read(text).1.isEmpty) }

  @Test func `all invalid properties are reported together`() throws {
    let (_, pointers) = try read(#"{"bodyRetention":"x","a":1,"retry":1,"timeoutIntervalForRequest":-1}"#)
    #expect(pointers == ["/c/timeoutIntervalForRequest", "/c/retry", "/c/bodyRetention", "/c/a"])
  }
}
