import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// A background download from resume data of another task. Its worker dies before it receives a byte.
@Suite(.serialized, .blocking) struct WorkerResumeDataTests {
  private static let bytes = Pattern.bytes(900_000)
  private static let half = 500_000
  private final class Door: Sendable {
    let (arrived, leaves) = (Gate(), Gate())
    let ranges = Mutex(0)
  }

  private let door = Door()
  private let origin: TestOrigin
  private let place: BackgroundFixture

  /// Creates an origin that sends half the body first, nothing to the first range request, and the rest to the second.
  init() throws {
    origin = TestOrigin { [door] request, socket in
      let tag = ("ETag", "\"v\"")
      guard let first = request["Range"].flatMap({ Int($0.dropFirst(6).dropLast()) }) else {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(Self.bytes.count)\r\nAccept-Ranges: bytes\r\n"
        try socket.write(Array("\(head)\(tag.0): \(tag.1)\r\n\r\n".utf8) + Self.bytes[..<Self.half])
        door.leaves.wait()
        return false
      }
      guard
        door.ranges.withLock({
          $0 += 1; return $0
        }) > 1
      else {
        door.arrived.open()
        door.leaves.wait()
        return false
      }
      let range = ("Content-Range", "bytes \(first)-\(Self.bytes.count - 1)/\(Self.bytes.count)")
      try socket.write(TestOrigin.reply("206 Partial Content", Array(Self.bytes[first...]), [tag, range]))
      return true
    }
    place = try BackgroundFixture()
  }

  private func goOn(_ data: String, _ session: String) throws -> String {
    let body = #"{"kind":"download","resume":true,"resumeData":"\#(data)"}"#
    return try place.ferry.call("POST", "/v1/sessions/\(session)/tasks", body).json.id
  }

  @Test(arguments: [false, true], [false, true])
  func `bytes of the resume data survive the worker`(_ isCancelled: Bool, _ isOfDefault: Bool) throws {
    defer { for _ in 0..<2 { door.leaves.open() } }
    let session = try place.session()
    let former = try place.ferry.create(
      origin.url + "/", kind: "download", session: isOfDefault ? place.ferry.session() : session)
    #expect(try place.task(former, received: Int64(Self.half)).received == Int64(Self.half))
    let data = try #require(try place.ferry.cancelProducingResumeData(former).string)
    var id = try goOn(data, session)
    #expect(door.arrived.wait())
    if isCancelled { #expect(try place.ferry.act("suspend", id) == "suspended") }
    kill(try #require(place.worker.pid), SIGKILL)
    if isCancelled {
      id = try goOn(try #require(try place.ferry.cancelProducingResumeData(id).string), session)
    }
    #expect(try place.ferry.end(of: id)["error"] == .null)
    #expect(try place.ferry.body(of: id) == Self.bytes)
    #expect(
      origin.requests.compactMap { $0["Range"] } == [String](repeating: "bytes=\(Self.half)-", count: 2))
  }
}
