import Foundation
import TestSupport
import Testing

@Suite(.blocking) struct ApacheServerTests {
  private let hello = NginxServer.contents(5000)

  @Test func `Basic and Digest accept only the right password`() throws {
    let apache = try ApacheServer()
    #expect(try Curl(apache.url(.plain, "/open/hello.txt")).body == hello)
    for (scheme, password) in [
      ("basic", ApacheServer.basicPassword), ("digest", ApacheServer.digestPassword),
    ] {
      let url = apache.url(.plain, "/\(scheme)/hello.txt")
      let right = try Curl("--\(scheme)", "-u", "alice:\(password)", url)
      #expect(right.status == 200 && right.body == hello)
      #expect(try Curl("--\(scheme)", "-u", "alice:wrong", url).status == 401)
      let challenge = try Curl("-i", url)
      #expect(challenge.status == 401 && challenge.text.contains("realm=\"\(scheme) realm\""))
    }
    let log = apache.log(atLeast: 9)
    #expect(log.first == "GET /open/hello.txt 200 -" && log.count == 9)
    #expect(
      log.contains("GET /basic/hello.txt 200 Basic \(Data("alice:s3cret-basic".utf8).base64EncodedString())"))
    #expect(
      log.contains { $0.hasPrefix("GET /digest/hello.txt 200 Digest username=\"alice\", realm=\"digest") })
  }

  @Test func secureFaceSpeaksHTTP2() throws {
    let apache = try ApacheServer()
    let reply = try Curl(
      "-k", "-u", "alice:\(ApacheServer.basicPassword)", apache.url(.secure, "/basic/hello.txt"))
    #expect(reply.status == 200 && reply.version == "2" && reply.body == hello)
  }

  @Test func `uploads are kept`() throws {
    let (apache, file) = (try ApacheServer(), try UploadFile())
    let digest = "alice:\(ApacheServer.digestPassword)"
    #expect(
      try Curl("--digest", "-u", digest, "-T", file.path, apache.url(.plain, "/digest/put")).status == 201)
    #expect(apache.uploaded("put") == file.bytes)
    let chunked = "Transfer-Encoding: chunked"
    #expect(
      try Curl("-H", chunked, "--data-binary", "@" + file.path, apache.url(.plain, "/open/post")).status
        == 201)
    #expect(apache.uploaded("post") == file.bytes)
    #expect(try Curl("-T", file.path, apache.url(.plain, "/basic/refused")).status == 401)
    #expect(apache.uploaded("refused") == nil)
  }

  @Test func `nonce becomes stale`() throws {
    let apache = try ApacheServer()
    let url = apache.url(.plain, "/stale/hello.txt")
    let secret = try OpenSSL.md5("alice:digest realm:\(ApacheServer.digestPassword)")
    let request = try OpenSSL.md5("GET:/stale/hello.txt")
    var authorization = ""
    // The nonce lives for a second, and a busy machine may need as long for the request.
    let isTaken = try (0..<20).contains { _ in
      let challenge = try Curl("-i", url).text
      let nonce = try #require(challenge.firstMatch(of: /nonce="([^"]*)"/)).1
      let response = try OpenSSL.md5("\(secret):\(nonce):00000001:0a4f:auth:\(request)")
      authorization = """
        Authorization: Digest username="alice", realm="digest realm", nonce="\(nonce)", uri="/stale/hello.txt", \
        algorithm=MD5, qop=auth, nc=00000001, cnonce="0a4f", response="\(response)"
        """
      return try Curl("-H", authorization, url).status == 200
    }
    #expect(isTaken)
    // It counts seconds.
    usleep(2_100_000)
    let late = try Curl("-i", "-H", authorization, url)
    #expect(late.status == 401 && late.text.contains("stale=true"))
  }
}
