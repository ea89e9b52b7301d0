import Crypto
import FoundationEssentials
import Glibc
import JSON
import Synchronization
import TestSupport
import Testing

/// Messages are signed and delivered at least once.
@Suite(.serialized, .blocking) struct WebhookTests {
  private static let key = [UInt8](repeating: 7, count: 32)
  private static let secret = "whsec_" + Data(key).base64EncodedString()

  private let origin = TestOrigin { request, socket in
    try socket.write(TestOrigin.reply("200 OK", Array("body".utf8)))
    return true
  }

  /// A receiver that sends the given answers, and then 204.
  private final class Receiver: Sendable {
    let server: TestOrigin
    init(_ answers: [String] = []) {
      let queue = Mutex(answers)
      let shared = Shared(queue)
      server = TestOrigin { _, socket in
        let answer = shared.next()
        try socket.write(
          TestOrigin.reply(answer, [], answer.hasPrefix("302") ? [("Location", "/elsewhere")] : []))
        return true
      }
    }
    private final class Shared: Sendable {
      private let queue: Mutex<[String]>
      init(_ queue: consuming Mutex<[String]>) { self.queue = queue }
      func next() -> String { queue.withLock { $0.isEmpty ? "204 No Content" : $0.removeFirst() } }
    }
    func wait(for count: Int, seconds: Int = Int(Patience.seconds)) -> [TestOrigin.Request] {
      for _ in 0..<(seconds * 100) where server.requests.count < count { usleep(10_000) }
      return server.requests
    }
  }

  private func isSigned(_ message: TestOrigin.Request, key: [UInt8] = Self.key) -> Bool {
    let signed =
      Array("\(message["webhook-id"] ?? "").\(message["webhook-timestamp"] ?? "").".utf8) + message.body
    let code = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: key))
    return message["webhook-signature"] == "v1," + Data(code).base64EncodedString()
  }

  private func completion(_ receiver: Receiver) -> String {
    #","completion":{"webhook":{"url":"\#(receiver.server.url)/hook","secret":"\#(Self.secret)"}}"#
  }

  @Test func `completion message is signed and contains no secret`() throws {
    let ferry = try FerryProcess()
    let receiver = Receiver()
    let body =
      #"{"kind":"download","resume":true,"request":{"url":"\#(origin.url)/"}\#(completion(receiver))}"#
    let created = try ferry.call("POST", "/v1/tasks", body)
    #expect(!created.text.contains(Self.secret))
    let message = try #require(receiver.wait(for: 1).first)
    #expect(isSigned(message) && message["Content-Type"] == "application/json")
    let json = try JSONParser.parse(message.body)
    #expect(json["type"]?.string == "task.didComplete" && json["timestamp"]?.string != nil)
    #expect(json["data"]?["taskId"] == created.json["id"])
    #expect(json["data"]?["task"]?["state"]?.string == "completed")
    #expect(!String(decoding: message.body, as: UTF8.self).contains(Self.secret))
  }

  @Test func `failed delivery is retried with its id and redirects are not followed`() throws {
    let ferry = try FerryProcess()
    let receiver = Receiver(["302 Found"])
    let body =
      #"{"kind":"download","resume":true,"request":{"url":"\#(origin.url)/"}\#(completion(receiver))}"#
    _ = try ferry.call("POST", "/v1/tasks", body)
    let messages = receiver.wait(for: 2)
    #expect(messages.count == 2 && messages.allSatisfy { isSigned($0) && $0.path == "/hook" })
    #expect(messages[0]["webhook-id"] == messages[1]["webhook-id"])
    #expect(messages[0].body == messages[1].body)
  }

  @Test func `gone endpoint gets no further attempt`() throws {
    let ferry = try FerryProcess()
    let receiver = Receiver(["410 Gone"])
    let body =
      #"{"kind":"download","resume":true,"request":{"url":"\#(origin.url)/"}\#(completion(receiver))}"#
    _ = try ferry.call("POST", "/v1/tasks", body)
    #expect(receiver.wait(for: 2, seconds: 7).count == 1)
  }

  /// The completion handler is a webhook, or the reply that a waiting client receives.
  @Test(arguments: [false, true]) func `completion handler replaces the delegate`(
    _ waits: Bool
  ) throws {
    let ferry = try FerryProcess()
    let (delegate, handler) = (Receiver(), Receiver())
    let events =
      #"["task.didCreate","dataTask.didReceiveResponse","downloadTask.didFinishDownloading","task.didComplete"]"#
    let session = try ferry.session(
      delegate: #"{"webhook":{"url":"\#(delegate.server.url)/d","events":\#(events)}}"#)
    _ = try ferry.create(origin.url + "/", session: session)
    let heard = delegate.wait(for: 3).compactMap { try? JSONParser.parse($0.body)["type"]?.string }
    #expect(heard.sorted() == ["dataTask.didReceiveResponse", "task.didComplete", "task.didCreate"])
    let handled = waits ? "" : completion(handler)
    for kind in ["data", "download"] {
      let body = #"{"kind":"\#(kind)","resume":true,"request":{"url":"\#(origin.url)/"}\#(handled)}"#
      let fields = waits ? [("Prefer", Patience.preference)] : []
      let reply = try ferry.call("POST", "/v1/sessions/\(session)/tasks", body, fields)
      #expect(reply.status == (waits ? 200 : 201))
    }
    if !waits { #expect(handler.wait(for: 2).count == 2) }
    #expect(delegate.wait(for: 6, seconds: 1).count == 5)  // task.didCreate of both tasks
  }

  /// No other event wakes the dispatcher.
  @Test func `creation alone is delivered to the delegate`() throws {
    let ferry = try FerryProcess()
    let receiver = Receiver()
    let session = try ferry.session(
      delegate: #"{"webhook":{"url":"\#(receiver.server.url)/","events":["task.didCreate"]}}"#)
    _ = try ferry.create(origin.url + "/", session: session, resume: false)
    #expect(receiver.wait(for: 1).count == 1)
  }

  @Test func `message without a secret is signed by the service`() throws {
    let ferry = try FerryProcess()
    let receiver = Receiver()
    let body =
      #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/"},"completion":{"webhook":{"url":"\#(receiver.server.url)/"}}}"#
    _ = try ferry.call("POST", "/v1/tasks", body)
    let message = try #require(receiver.wait(for: 1).first)
    let text = try String(contentsOfFile: ferry.directory + "/webhook-secret", encoding: .utf8)
    let key = try #require(Data(base64Encoded: String(text.dropFirst(6).dropLast())))
    #expect(isSigned(message, key: Array(key)))
  }

  @Test func `undelivered message survives SIGKILL`() throws {
    let directory = TemporaryDirectory.make("ferry-outbox")
    var ferry = try FerryProcess(directory: directory)
    let receiver = Receiver(["500 No", "500 No"])
    let body =
      #"{"kind":"download","resume":true,"request":{"url":"\#(origin.url)/"}\#(completion(receiver))}"#
    _ = try ferry.call("POST", "/v1/tasks", body)
    #expect(receiver.wait(for: 1).count == 1)
    ferry.kill()
    ferry = try FerryProcess(directory: directory)
    let messages = receiver.wait(for: 2)
    #expect(messages.count >= 2 && Set(messages.compactMap { $0["webhook-id"] }).count == 1)
    #expect(ferry.terminate() == 0)
  }
}
