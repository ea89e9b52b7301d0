import JSON
import TestSupport
import Testing

/// Sessions with many tasks need little memory, and end quickly.
@Suite(.serialized, .blocking) struct SessionTeardownTests {
  private static let count = 12_000

  /// Creates `count` tasks and returns their ids.
  private func fill(
    _ ferry: FerryProcess, _ session: String, _ url: String, count: Int, resume: Bool = false
  ) throws -> [String] {
    let line =
      #"{"kind":"download","resume":\#(resume),"request":{"url":"\#(url)","headers":{"Accept":"image/*"}}}"#
      + "\n"
    var ids: [String] = []
    for start in stride(from: 0, to: count, by: 1_000) {
      let reply = try ferry.call(
        "POST", "/v1/sessions/\(session)/tasks", String(repeating: line, count: min(1_000, count - start)),
        [("Content-Type", "application/x-ndjson")])
      #expect(reply.status == 200)
      ids += try reply.body.split(separator: UInt8(ascii: "\n")).map { try JSONParser.parse(Array($0)).id }
    }
    return ids
  }

  @Test func `large session needs little memory and ends`() throws {
    let ferry = try FerryProcess()
    let gauge = ProcessUsage(ferry.processIdentifier)
    let session = try ferry.session()
    try ferry.waitForEarlierCommands("http://127.0.0.1:9/")
    let before = try gauge.residentMemory()
    _ = try fill(ferry, session, "http://127.0.0.1:9/file", count: Self.count)
    let held = try gauge.residentMemory() - before
    #expect(held * 1024 / Self.count < 1_800, "bytes of memory for each suspended task")

    let reply = try ferry.call("POST", "/v1/sessions/\(session)/invalidate", #"{"mode":"cancelTasks"}"#)
    #expect(reply.status == 202)
    #expect(
      try ferry.poll("/v1/sessions/\(session)") { $0["state"]?.string == "invalid" }["state"]?.string
        == "invalid")
    #expect(try gauge.residentMemory() - before < held * 3 / 2)
    let page = try ferry.call("GET", "/v1/sessions/\(session)/tasks?limit=500").json
    for task in page["items"]?.elements ?? [] { #expect(task.errorCode == -999) }
    #expect(page["items"]?.elements?.count == 500)
    #expect(try ferry.call("DELETE", "/v1/sessions/\(session)").status == 204)
    #expect(try ferry.call("GET", "/v1/sessions/\(session)").status == 404)
    #expect(try ferry.task(page["items"]?.elements?.first?.id ?? "")["status"]?.integer == 404)
  }

  /// A task that takes the slot of a cancelled one must not reach its origin.
  @Test func `cancellation starts no waiting task`() throws {
    let (begun, end) = (Gate(), Gate())
    let origin = TestOrigin { _, _ in
      begun.open()
      end.wait()
      return false
    }
    defer { end.open() }
    let ferry = try FerryProcess()
    let session = try ferry.session(#"{"urlCache":null,"httpMaximumConnectionsPerHost":1}"#)
    let ids = try fill(ferry, session, origin.url + "/", count: 1_200, resume: true)
    #expect(begun.wait())
    #expect(
      try ferry.call("POST", "/v1/sessions/\(session)/invalidate", #"{"mode":"cancelTasks"}"#).status == 202)
    _ = try ferry.poll("/v1/sessions/\(session)") { $0["state"]?.string == "invalid" }
    #expect(ids.count == 1_200)
    for id in [0, 1, 511, 512, 1_199].map({ ids[$0] }) { #expect(try ferry.task(id).errorCode == -999) }
    #expect(origin.requests.count == 1)
  }
}
