import Glibc
package import JSON
import Synchronization

/// A webhook endpoint that sends the given statuses in order, and then 204.
package final class WebhookReceiver: Sendable {
  private let origin: TestOrigin

  package init(_ answers: [String] = []) {
    let queue = Answers(answers)
    origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply(queue.next()))
      return true
    }
  }

  private final class Answers: Sendable {
    private let queue: Mutex<[String]>
    init(_ answers: [String]) { queue = Mutex(answers) }
    func next() -> String { queue.withLock { $0.isEmpty ? "204 No Content" : $0.removeFirst() } }
  }

  package var url: String { origin.url + "/hook" }

  /// The attempts to deliver a message, in order.
  package var messages: [(id: String, json: JSONValue)] {
    origin.requests.map { ($0["webhook-id"] ?? "", (try? JSONParser.parse($0.body)) ?? .null) }
  }

  /// Waits, at most a minute, for the first attempt.
  package func waitForRequest() -> TestOrigin.Request? { waitForRequests(0..<1).first }

  /// Waits, at most a minute, for some of the attempts.
  package func waitForRequests(_ places: Range<Int>) -> [TestOrigin.Request] {
    Patience.wait { origin.requests.count < places.upperBound }
    return Array(origin.requests.prefix(places.upperBound).dropFirst(places.lowerBound))
  }

  /// The types of the attempts.
  package var types: [String] { messages.map { $0.json["type"]?.string ?? "" } }

  /// Waits, at most a minute, for `count` attempts to deliver messages of this type. Returns them, or an empty array.
  package func wait(for type: String, _ count: Int = 1) -> [(id: String, json: JSONValue)] {
    for _ in 0..<6000 {
      let found = messages.filter { $0.json["type"]?.string == type }
      if found.count >= count { return found }
      usleep(10_000)
    }
    return []
  }
}

extension FerryProcess {
  /// Creates a background session whose webhook receives these events. Returns its id.
  package func background(
    _ identifier: String, hook: WebhookReceiver, events: [String] = [], delegate: String = "",
    configuration: String = "{}"
  ) throws -> String {
    let names = events.map { "\"\($0)\"" }.joined(separator: ",")
    let webhook = #"{"url":"\#(hook.url)","events":[\#(names)]}"#
    return try background(
      identifier,
      #","configuration":\#(configuration),"delegate":{"webhook":\#(webhook)\#(delegate)}"#
    ).json.id
  }
}
