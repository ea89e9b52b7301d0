import TestSupport
import Testing

@Suite(.blocking) struct NTLMOriginTests {
  @Test func `connection logs in with the right password`() throws {
    let origin = try NTLMOrigin()
    let (url, right) = (origin.url("/ntlm/hello.txt"), #"FERRY\alice:s3cret-ntlm"#)
    let reply = try Curl("--ntlm", "-u", right, url)
    #expect(reply.status == 200 && reply.body == NginxServer.contents(5000))
    #expect(try Curl("--anyauth", "-u", right, url).status == 200)
    let denied = try Curl("--ntlm", "-u", #"FERRY\alice:wrong"#, url)
    #expect(denied.status == 401 && denied.text.hasSuffix("denied\n"))
    #expect(try Curl("-u", "alice:s3cret-ntlm", url).status == 401)
    #expect(try Curl("--ntlm", "-u", right, origin.url("/ntlm/who")).text == "FERRY\\alice\n")
    #expect(try Curl(origin.url("/open")).text == "open\n")
    let log = origin.log()
    #expect(log.first?.hasPrefix("GET /ntlm/hello.txt 401 NTLM ") == true)
    #expect(log.last == "GET /open 200 -")
  }

  @Test func `uploads are counted`() throws {
    let (origin, file) = (try NTLMOrigin(), try UploadFile())
    let right = #"FERRY\alice:s3cret-ntlm"#
    let put = try Curl("--ntlm", "-u", right, "-T", file.path, origin.url("/ntlm/put"))
    #expect(put.status == 200 && put.text.contains("\"received\": 300000"))
    let chunked = "Transfer-Encoding: chunked"
    let post = try Curl(
      "--ntlm", "-u", right, "-H", chunked, "--data-binary", "@" + file.path, origin.url("/ntlm/post"))
    #expect(post.status == 200 && post.text == put.text)
    // A client that does not yet know the scheme has sent a part of the body.
    let any = try Curl("--anyauth", "-u", right, "-T", file.path, origin.url("/ntlm/put"))
    #expect(any.status == 200 && any.text.hasSuffix(put.text))
    #expect(try Curl("-T", file.path, origin.url("/open")).text == put.text)
  }
}
