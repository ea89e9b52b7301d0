import JSON
import Testing

@testable import Commands

@Suite struct DecisionTextTests {
  private static func text(_ type: String, _ data: String) throws -> DecisionText {
    let json =
      #"{"id":"dec_1","taskId":"tsk_1","expiresAt":"2026-01-01T00:00:00Z","type":"\#(type)","data":\#(data)}"#
    return DecisionText(json: try JSONParser.parse(Array(json.utf8)))
  }

  @Test func `certificate is readable`() throws {
    let decision = try Self.text(
      "session.didReceiveChallenge",
      #"""
      {"protectionSpace":{"host":"h","port":443,"authenticationMethod":"NSURLAuthenticationMethodServerTrust",
       "serverTrust":{"evaluation":{"isTrusted":false,"code":18,"message":"self-signed"},
       "certificates":[{"subject":"CN=\u001b[2Jh","issuer":"CN=i","notBefore":"a","notAfter":"b","sha256":"cd"}]}}}
      """#)
    #expect(decision.kind == .trust)
    #expect(
      decision.lines == [
        "decision dec_1 of task tsk_1, until 2026-01-01T00:00:00Z",
        "h:443: the certificate is not trusted: self-signed", "  subject  CN=?[2Jh", "  issuer   CN=i",
        "  valid    a to b", "  SHA-256  cd",
      ])
  }

  @Test func `certificates of a chain are numbered`() throws {
    let decision = try Self.text(
      "session.didReceiveChallenge",
      #"""
      {"protectionSpace":{"host":"h","authenticationMethod":"NSURLAuthenticationMethodServerTrust",
       "serverTrust":{"evaluation":{"isTrusted":true},"certificates":[{"subject":"CN=h"},{"subject":"CN=i"}]}}}
      """#)
    #expect(decision.isTrusted)
    #expect(
      decision.lines[1...3] == ["h: the certificate is trusted", "certificate 1 of 2", "  subject  CN=h"])
    #expect(decision.lines[7...8] == ["certificate 2 of 2", "  subject  CN=i"])
  }

  @Test(
    arguments: [
      ("yes", "yes"), ("y", "yes"), ("N", "no"), ("c", "cancel"), ("maybe", nil), ("yess", nil),
      ("allowed", "allowed"), ("allow", nil), ("allowedin", "allowedInMemoryOnly"), ("not", "notAllowed"),
    ] as [(String, String?)])
  func `answer is a word or its beginning`(answer: String, word: String?) {
    let words =
      answer.lowercased().hasPrefix("allow") || answer == "not"
      ? ["allowed", "allowedInMemoryOnly", "notAllowed"] : ["yes", "no", "cancel"]
    #expect(DecisionText.word(answer, of: words) == word)
  }

  @Test(arguments: [
    (
      "task.didReceiveChallenge",
      #"{"protectionSpace":{"host":"h","authenticationMethod":"NSURLAuthenticationMethodHTTPDigest","realm":"r"},"previousFailureCount":2}"#,
      DecisionText.Kind.password, "h asks who you are (HTTPDigest), realm 'r'"
    ),
    (
      "session.didReceiveChallenge",
      #"{"protectionSpace":{"host":"h","isProxy":true,"authenticationMethod":"NSURLAuthenticationMethodClientCertificate","distinguishedNames":["CN=a"]}}"#,
      .certificate, "proxy h asks who you are (ClientCertificate)"
    ),
    (
      "task.willPerformHTTPRedirection",
      #"{"response":{"status":301},"request":{"method":"GET","url":"http://h/b"}}"#, .redirect,
      "301 Moved Permanently redirects to GET http://h/b"
    ),
    (
      "dataTask.didReceiveResponse", #"{"response":{"status":200,"url":"http://h/"}}"#, .response,
      "200 OK from http://h/"
    ),
    (
      "dataTask.willCacheResponse", #"{"response":{"status":200},"countOfBytes":9}"#, .caching,
      "200 OK of 9 bytes may be stored"
    ),
    (
      "task.willBeginDelayedRequest", #"{"request":{"url":"http://h/"}}"#, .delayed,
      "the request to http://h/ is due"
    ),
    ("task.needNewBodyStream", "{}", .body, "the body must be sent again; a program must do this"),
  ])
  func `decision has a line for its kind`(type: String, data: String, kind: DecisionText.Kind, line: String)
    throws
  {
    let decision = try Self.text(type, data)
    #expect(decision.kind == kind && decision.lines[1] == line)
  }
}
