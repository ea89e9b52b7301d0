import Foundation
import JSON
import Processes
import Synchronization
import TestSupport
import Testing

/// Guarantees between two services of one data directory.
@Suite(.serialized, .blocking, .endsInTime) struct SharedDirectoryTests {
  private let directory = TemporaryDirectory.make("ferry-shared")
  private let origin = TestOrigin { request, socket in
    try socket.write(TestOrigin.reply("200 OK", Array(request.path.utf8)))
    return true
  }

  private func second(to first: FerryProcess) throws -> FerryProcess {
    let second = try FerryProcess(directory: directory)
    #expect(first.hasLogged("a service has joined"))
    return second
  }

  /// The second service wakes the first, which would otherwise look only every fifteen seconds.
  @Test func `events of both services arrive at once`() throws {
    let first = try FerryProcess(directory: directory)
    let ferries = [first, try second(to: first)]
    let sessions = try (0..<6).map { _ in try ferries[1].session() }
    for ferry in ferries {
      let events = try ferry.events("/v1/events?after=0&types=task.didComplete")
      let start = ContinuousClock.now
      for session in sessions {
        let task = try ferries[1].run(origin.url, session: session)
        while let event = try events.next(), event.task != task.id {}
      }
      #expect(ContinuousClock.now - start < .seconds(15))
    }
    #expect(ferries.map { $0.terminate() } == [0, 0])
  }

  @Test(arguments: [#"{"type":"default"}"#, #"{"type":"ephemeral"}"#])
  func `either service moves a body to a file`(_ body: String) throws {
    let first = try FerryProcess(directory: directory)
    let ferries = [first, try second(to: first)]
    for ferry in ferries {
      let session = try ferry.call("POST", "/v1/sessions", body).json.id
      for (number, asked) in (ferries + ferries).enumerated() {
        let task = try ferry.run(origin.url + "/\(number)", session: session)
        let file = try asked.call("POST", "/v1/files", #"{"fromTask":"\#(task.id)"}"#)
        #expect(file.status == 201, "\(file.text)")
        #expect(try ferry.call("GET", "/v1/files/\(file.json.id)").text == "/\(number)")
      }
    }
    #expect(ferries.map { $0.terminate() } == [0, 0])
  }

  /// A repeated request gets the first reply, although the session is in the memory of a service that was alone then.
  @Test func `repeated request finds a session in the other service`() throws {
    let first = try FerryProcess(directory: directory)
    func create(_ ferry: FerryProcess, _ number: Int) throws -> HTTPReply {
      try ferry.call("POST", "/v1/sessions", #"{"type":"ephemeral"}"#, [("Idempotency-Key", "key-\(number)")])
    }
    let ids = try (0..<12).map { try create(first, $0).json.id }
    let ferries = [first, try second(to: first)]
    for ferry in ferries {
      #expect(try (0..<12).map { try create(ferry, $0).json.id } == ids)
    }
    #expect(ferries.map { $0.terminate() } == [0, 0])
  }

  @Test func `file is stored once under a key`() throws {
    let first = try FerryProcess(directory: directory)
    let ferries = [first, try second(to: first)]
    let ports = ferries.map(\.port)
    for number in 0..<8 {
      let replies = Mutex<[HTTPReply]>([])
      DispatchQueue.concurrentPerform(iterations: 2) { index in
        let reply = try? HTTPClient(port: ports[index]).send(
          "POST", "/v1/files", Array("bytes \(number)".utf8),
          [("Idempotency-Key", "key-\(number)"), ("Content-Type", "text/plain")])
        if let reply { replies.withLock { $0.append(reply) } }
      }
      let statuses = replies.withLock { $0.map(\.status) }
      // A request may be refused with 409 while the request with the same key runs.
      #expect(statuses.contains(201) && statuses.allSatisfy { [201, 409].contains($0) }, "\(statuses)")
    }
    #expect(try first.call("GET", "/v1/files?limit=100").json["items"]?.elements?.count == 8)
    #expect(ferries.map { $0.terminate() } == [0, 0])
  }
}
