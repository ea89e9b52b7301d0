import JSON
import TestSupport
import Testing

/// Invalid requests whose refusal depends on the transfer of the body: line by line, or announced as too long.
@Suite(.serialized, .blocking, .sharing) struct BadInputTests {
  private let ferry: FerryProcess

  init() throws { ferry = try .ofSuite() }

  @Test func badLineOfABatchFailsAlone() throws {
    let session = try ferry.session()
    let good = #"{"kind":"data","request":{"url":"http://127.0.0.1:1/"}}"#
    let body = [good, "{nonsense", "", #"{"kind":"data"}"#, good].joined(separator: "\n")
    let reply = try ferry.call(
      "POST", "/v1/sessions/\(session)/tasks", body, [("Content-Type", "application/x-ndjson")])
    #expect(reply.status == 200 && reply["Content-Type"] == "application/x-ndjson")
    let lines = reply.lines
    #expect(lines.map { $0["state"]?.string } == ["suspended", nil, nil, "suspended"])
    #expect(lines[1]["type"]?.string == "/problems/malformed-json" && lines[1]["line"]?.integer == 2)
    #expect(
      lines[2]["errors"]?.elements?.first?["pointer"]?.string == "/request" && lines[2]["line"]?.integer == 4)
    #expect(try ferry.call("GET", "/v1/sessions/\(session)/tasks").json["items"]?.elements?.count == 2)
  }

  /// A refused line does not affect the others.
  @Test func `line with forged resume data is refused alone`() throws {
    let origin = ResumableOrigin()
    origin.change { $0.stop = 300_000 }
    let id = try ferry.stalled(origin.url, at: 300_000)
    let data = try #require(try ferry.cancelProducingResumeData(id).string)
    origin.change { $0.stop = nil }
    let lines = ["forged", data].map { #"{"kind":"download","resume":true,"resumeData":"\#($0)"}"# }
    let reply = try ferry.call(
      "POST", "/v1/tasks", lines.joined(separator: "\n"), [("Content-Type", "application/x-ndjson")])
    let results = try reply.text.split(separator: "\n").map { try JSONParser.parse(Array($0.utf8)) }
    #expect(results.count == 2 && results[0]["status"]?.integer == 400, "\(reply.text)")
    #expect(results[0]["errors"]?.elements?.compactMap { $0["pointer"]?.string } == ["/resumeData"])
    #expect(try ferry.end(of: results[1].id)["error"] == .null)
  }

  @Test func `oversized body is refused`() throws {
    let client = try HTTPClient(port: ferry.port)
    try client.socket.write(
      "POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n"
    )
    let reply = try client.readReply()
    #expect(reply.status == 413 && reply.json["detail"]?.string?.contains("8388608") == true)
  }
}
