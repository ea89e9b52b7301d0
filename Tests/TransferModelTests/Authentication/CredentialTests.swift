import JSON
import Testing
import TransferModel

@Suite struct CredentialTests {
  private func read<T>(_ text: String, _ make: (inout ObjectReader) -> T) throws -> (T, [String]) {
    let violations = Violations()
    var reader = ObjectReader(try JSONParser.parse(Array(text.utf8)), at: "", violations)
    return (make(&reader), violations.all.map(\.pointer))
  }

  @Test func `descriptions and JSON of credentials contain no secret`() {
    for credential in [
      Credential(user: "alice", password: "hidden-1", persistence: .permanent),
      Credential(.certificate("CERT", privateKey: "hidden-2"), persistence: .none),
    ] {
      var dumped = ""
      dump([credential], to: &dumped)
      let texts = [
        "\(credential)", String(reflecting: credential), dumped,
        String(decoding: credential.json, as: UTF8.self),
      ]
      for text in texts { #expect(!text.contains("hidden"), "\(text)") }
    }
  }

  @Test(arguments: [
    ("{}", "/user"), (#"{"user":"u"}"#, "/password"), (#"{"password":"p"}"#, "/user"),
    (#"{"user":"u","password":1}"#, "/password"), (#"{"clientCertificate":"c"}"#, "/privateKey"),
    (#"{"privateKey":"k"}"#, "/clientCertificate"),
    (#"{"user":"u","password":"p","persistence":"ever"}"#, "/persistence"),
    (#"{"user":"u","password":"a\u0000b"}"#, "/password"), (#"{"user":"u","password":"a\r"}"#, "/password"),
    (#"{"user":"u","password":"\n"}"#, "/password"), (#"{"user":"a\u0000","password":"p"}"#, "/user"),
    (#"{"user":"a\r\nX: y","password":"p"}"#, "/user"), (#"{"user":"\u007f","password":"p"}"#, "/user"),
    (#"{"user":"\t","password":"p"}"#, "/user"), (#"{"user":"\u001f","password":"\n"}"#, "/user"),
    (#"{"user":"u","password":"p","x":1}"#, "/x"),
  ])
  func `invalid credential is reported by its JSON pointer`(_ text: String, _ pointer: String) throws {
    #expect(try read(text) { Credential(validating: &$0) }.1.contains(pointer))
  }

  @Test(arguments: [#"{"user":"Zoë Ü \"x\"","password":"\tpässword\u007f"}"#, #"{"user":"","password":""}"#])
  func `user without control characters is valid`(_ text: String) throws {
    #expect(try read(text) { Credential(validating: &$0) }.1 == [])
  }

  @Test(arguments: [
    ("{}", "/host"), (#"{"host":""}"#, "/host"), (#"{"host":"a/b"}"#, "/host"),
    (#"{"host":"a","port":0}"#, "/port"),
    (#"{"host":"a","protocol":"ftp"}"#, "/protocol"),
    (#"{"host":"a","authenticationMethod":"x"}"#, "/authenticationMethod"),
    (#"{"host":"a","authenticationMethod":"NSURLAuthenticationMethodServerTrust"}"#, "/authenticationMethod"),
    (#"{"host":"a","isProxy":1}"#, "/isProxy"), (#"{"host":"a","x":1}"#, "/x"),
  ])
  func `invalid protection space is reported by its JSON pointer`(_ text: String, _ pointer: String) throws {
    #expect(try read(text) { ProtectionSpace(validating: &$0) }.1 == [pointer])
  }

  @Test func `port defaults to that of the protocol`() throws {
    let (space, _) = try read(#"{"host":"[2001:DB8::1]","realm":"r"}"#) { ProtectionSpace(validating: &$0) }
    #expect(
      space.host == "2001:db8::1" && space.port == 443 && space.protocolName == "https" && space.realm == "r")
    #expect(try read(#"{"host":"a","protocol":"http"}"#) { ProtectionSpace(validating: &$0) }.0.port == 80)
  }

  @Test(arguments: [
    ("a.test", "a.test", true), ("a.test", "b.a.test", false), ("*.a.test", "b.a.test", true),
    ("*.a.test", "a.test", false), ("*.a.test", "xa.test", false), ("A.test", "a.test", true),
  ])
  func `pin covers exactly its hosts`(_ pattern: String, _ host: String, _ covers: Bool) {
    #expect(PinnedHost(pattern: pattern, keys: []).covers(host) == covers)
  }
}
