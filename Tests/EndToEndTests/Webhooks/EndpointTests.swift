import Crypto
import FoundationEssentials
import JSON
import Synchronization
import TestSupport
import Testing

/// Webhook endpoints of a tenant, with the whole program.
@Suite(.serialized, .blocking) struct EndpointTests {
  private let origin = TestOrigin { _, socket in
    try socket.write(TestOrigin.reply("200 OK", Array("body".utf8)))
    return true
  }

  private func create(_ ferry: FerryProcess, _ url: String, _ members: String = "") throws -> JSONValue {
    try ferry.call("POST", "/v1/webhooks/endpoints", #"{"url":"\#(url)"\#(members)}"#).json
  }

  private func deliveries(_ ferry: FerryProcess, _ query: String, until isDone: @escaping (JSONValue) -> Bool)
    throws
    -> [JSONValue]
  {
    let page = try ferry.poll("/v1/webhooks/deliveries?\(query)") { page in
      let items = page["items"]?.elements ?? []
      return !items.isEmpty && items.allSatisfy(isDone)
    }
    return page["items"]?.elements ?? []
  }

  private func isDelivered(_ delivery: JSONValue) -> Bool { delivery["state"]?.string == "delivered" }

  @Test func `messages are signed with both secrets during a rotation`() throws {
    let ferry = try FerryProcess()
    let receiver = WebhookReceiver()
    let endpoint = try create(ferry, receiver.url, #","headers":{"X-Tenant":"acme"}"#)
    let path = "/v1/webhooks/endpoints/\(endpoint.id)"
    let rotated = try ferry.call("POST", path + "/rotate-secret", #"{"overlap":60}"#).json
    _ = try ferry.call("POST", path + "/test")
    let message = try #require(receiver.waitForRequest())
    #expect(message["X-Tenant"] == "acme" && message["User-Agent"] == "Ferry-Webhooks")
    let signed =
      Array("\(message["webhook-id"] ?? "").\(message["webhook-timestamp"] ?? "").".utf8) + message.body
    let expected = try [rotated, endpoint].map { made in
      let key = try #require(Data(base64Encoded: String(made["secret"]?.string?.dropFirst(6) ?? "")))
      let code = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: key))
      return "v1," + Data(code).base64EncodedString()
    }
    #expect(message["webhook-signature"] == expected.joined(separator: " "))
  }

  @Test func `messages of a task arrive in order although some attempts fail`() throws {
    let ferry = try FerryProcess(options: ["--webhook-schedule", "0,0.05,0.05,0.05,0.05,0.05,0.05,0.05"])
    let receiver = WebhookReceiver(["500 No", "204 No Content", "500 No", "500 No"])
    let events = #","events":["task.didCreate","task.didChangeState","task.didComplete"]"#
    _ = try create(ferry, receiver.url, events)
    let tasks = try (0..<5).map { _ in try ferry.create(origin.url + "/") }
    for task in tasks {
      _ = try ferry.end(of: task)
      let sent = try deliveries(ferry, "task=\(task)&limit=100", until: isDelivered)
      let ids = sent.map(\.id)
      let arrived = receiver.messages.map(\.id).filter(ids.contains)
      // Repeated attempts follow each other.
      let distinct = arrived.indices.filter { $0 == 0 || arrived[$0] != arrived[$0 - 1] }.map { arrived[$0] }
      #expect(distinct == ids && sent.first?["type"]?.string == "task.didCreate")
      #expect(sent.last?["type"]?.string == "task.didComplete")
    }
  }

  @Test func `gone webhook of a session gets no further message of the task`() throws {
    // All messages exist before the first attempt.
    let ferry = try FerryProcess(options: ["--webhook-schedule", "1,1"])
    let receiver = WebhookReceiver(["410 Gone"])
    let session = try ferry.session(
      delegate:
        #"{"webhook":{"url":"\#(receiver.url)","events":["task.didCreate","task.didChangeState","task.didComplete"]}}"#
    )
    let task = try ferry.create(origin.url + "/", session: session)
    let ended = try deliveries(ferry, "task=\(task)") { $0["state"]?.string == "failed" }
    #expect(ended.count >= 3 && receiver.messages.count == 1)
    let reasons = ended.dropFirst().map { $0["attempts"]?.elements?.first?["error"]?.string }
    #expect(Set(reasons) == ["the webhook replied 410 Gone to an earlier message of the task"])
  }

  @Test func `gone endpoint is disabled and keeps its messages`() throws {
    let ferry = try FerryProcess()
    let (receiver, witness) = (WebhookReceiver(["410 Gone"]), WebhookReceiver())
    let endpoint = try create(ferry, receiver.url)
    _ = try create(ferry, witness.url, #","events":["webhook.endpointDidDisable"]"#)
    let events = try ferry.events("/v1/events?after=0&types=webhook.endpointDidDisable")
    let task = try ferry.create(origin.url + "/")
    let event = try #require(try events.next())
    #expect(event.data["endpoint"]?.string == endpoint.id)
    #expect(event.data["reason"]?.string == "the endpoint replied 410 Gone")
    #expect(witness.wait(for: "webhook.endpointDidDisable").count == 1)
    let path = "/v1/webhooks/endpoints/\(endpoint.id)"
    #expect(try ferry.call("GET", path).json["state"]?.string == "disabled")
    _ = try ferry.end(of: task)
    let waiting = try deliveries(ferry, "task=\(task)") { $0["state"]?.string == "pending" }
    #expect(waiting.count == 1 && waiting[0]["attempts"]?.elements?.first?["status"]?.integer == 410)
    #expect(try ferry.call("PATCH", path, #"{"state":"enabled"}"#).status == 200)
    #expect(try deliveries(ferry, "task=\(task)", until: isDelivered).count == 1)
    #expect(receiver.messages.map(\.id) == [waiting[0].id, waiting[0].id])
  }

  @Test func `failed messages are sent again on request`() throws {
    let ferry = try FerryProcess(options: ["--webhook-schedule", "0,0.05"])
    let receiver = WebhookReceiver(Array(repeating: "500 Out of order", count: 4))
    _ = try create(ferry, receiver.url)
    for _ in 0..<2 { _ = try ferry.end(of: ferry.create(origin.url + "/")) }
    let failed = try deliveries(ferry, "state=failed") { _ in true }
    let all = try ferry.poll("/v1/webhooks/deliveries?state=failed") { $0["items"]?.elementCount == 2 }
    #expect(!failed.isEmpty && all["items"]?.elements?.first?["attemptCount"]?.integer == 2)
    let attempt = try #require(all["items"]?.elements?.first?["attempts"]?.elements?.first)
    #expect(attempt["status"]?.integer == 500 && attempt["latency"]?.double ?? -1 >= 0)
    let again = try ferry.call("POST", "/v1/webhooks/deliveries/redeliver", #"{"state":"failed"}"#)
    #expect(again.status == 202 && again.json["redelivered"]?.integer == 2)
    let sent = try deliveries(ferry, "limit=9", until: isDelivered)
    #expect(sent.count == 2 && Set(receiver.messages.map(\.id)) == Set(sent.map(\.id)))
  }

  @Test func `silent endpoints delay no other`() throws {
    let ferry = try FerryProcess()
    let gate = Gate()
    let silent = TestOrigin { _, _ in
      _ = gate.wait()
      return false
    }
    let receiver = WebhookReceiver()
    for number in 0..<300 {
      let body = #"{"kind":"data","request":{"url":"http://127.0.0.1:9/"},"resume":true,"#
      let hook = #""completion":{"webhook":{"url":"\#(silent.url)/\#(number)"}}}"#
      #expect(try ferry.call("POST", "/v1/tasks", body + hook).status == 201)
    }
    _ = try create(ferry, receiver.url, #","events":["task.didCreate"]"#)
    let task = try ferry.create(origin.url + "/", resume: false)
    #expect(receiver.wait(for: "task.didCreate").first?.json["data"]?["taskId"]?.string == task)
    gate.openForGood()
  }

  @Test func `log names endpoint, task and reason of a failed attempt`() throws {
    let ferry = try FerryProcess()
    let receiver = WebhookReceiver(["503 Busy"])
    let endpoint = try create(ferry, receiver.url)
    let task = try ferry.end(of: ferry.create(origin.url + "/"))
    _ = receiver.wait(for: "task.didComplete")
    for text in ["webhook attempt failed", endpoint.id, task.id, "status 503"] {
      #expect(ferry.hasLogged(text), "\(text)")
    }
  }
}
