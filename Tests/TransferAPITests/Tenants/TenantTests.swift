import HTTPServer
import JSON
import TestSupport
import Testing
import TransferModel

@testable import TransferAPI

/// Isolation of tenants: no operation lets a tenant see, list, guess or change another tenant's resources.
@Suite(.blocking, .endsInTime) struct TenantTests {
  typealias Call = InProcessAPI.Call
  /// The owner of a resource, and the tenant that tries to reach it.
  private static let pairs: [(Tenant, Tenant)] = [
    (InProcessAPI.a, InProcessAPI.b), (.default, InProcessAPI.b), (InProcessAPI.a, .default),
  ]
  private static let unknown = [
    "session": "ses_01923456-789a-7bcd-8ef0-123456789abc", "task": "tsk_01923456-789a-7bcd-8ef0-123456789abc",
    "decision": "dec_01923456-789a-7bcd-8ef0-123456789abc",
    "file": "fil_01923456-789a-7bcd-8ef0-123456789abc",
    "name": "nobodys", "group": "nogroup", "endpoint": "whe_01923456-789a-7bcd-8ef0-123456789abc",
    "delivery": "whd_01923456-789a-7bcd-8ef0-123456789abc",
  ]

  private func call(_ operation: Operation, _ ids: [String: String]) throws -> Call {
    let trial = try #require(
      IsolationCase.all[operation.id], "\(operation.id) has no isolation test; add it to IsolationCase.all")
    switch trial {
    case .named(_, let body, let type, _):
      return Call(method: operation.method, target: operation.target(ids), body: body, type: type)
    case .creation(let body, let type):
      return Call(method: operation.method, target: operation.path, body: body, type: type)
    default: return Call(method: operation.method, target: operation.path)
    }
  }

  @Test func `every operation has a trial`() {
    #expect(Operation.all.count > 40)
    #expect(Set(IsolationCase.all.keys).subtracting(Operation.all.map(\.id)) == [])
    for operation in Operation.all {
      switch IsolationCase.all[operation.id] {
      case .named:
        #expect(
          !operation.names.isEmpty, "\(operation.id) is listed as .named, but its path has no parameters")
      case nil: Issue.record("\(operation.id) has no isolation test; add it to IsolationCase.all")
      default: #expect(operation.names.isEmpty, "\(operation.id) has path parameters; list it as .named")
      }
    }
  }

  @Test(arguments: Operation.all.filter { !$0.names.isEmpty })
  func `foreign resource is reported as not found`(_ operation: Operation) async throws {
    for (owner, other) in Self.pairs {
      guard case .named(let thing, _, _, let status) = IsolationCase.all[operation.id] else { return }
      let place = try InProcessAPI(isTimeStill: true)
      let ids = try await place.make(thing, of: owner)
      #expect(Set(operation.names).isSubset(of: ids.keys))
      let before = try await place.picture(of: owner, ids)
      let answer = try await place.send(call(operation, ids), from: other)
      let none = try await place.send(call(operation, Self.unknown), from: other)
      #expect(answer.status == status, "\(operation.id): \(answer)")
      #expect(answer.replacing(ids) == none.replacing(Self.unknown))
      #expect(try await place.picture(of: owner, ids) == before)
      // The owner succeeds, so the resource existed.
      let own = try await place.send(call(operation, ids), from: owner)
      #expect((200...299).contains(own.status), "\(operation.id): \(own)")
      await place.stop()
    }
  }

  /// The id of the shared session is the same for every tenant, but each tenant has its own session.
  @Test(arguments: Operation.all.filter { $0.names == ["session"] })
  func `each tenant has its own shared session`(_ operation: Operation) async throws {
    for (owner, other) in Self.pairs {
      let place = try InProcessAPI(isTimeStill: true)
      try await place.fill("ses_shared", of: owner)
      let ids = ["session": "ses_shared"]
      let before = try await place.picture(of: owner, ids)
      let answer = try await place.send(call(operation, ids), from: other)
      #expect(answer.status != 404 && !answer.contains(anyOf: [InProcessAPI.mark(owner)]), "\(answer)")
      #expect(try await place.picture(of: owner, ids) == before)
      await place.stop()
    }
  }

  @Test(arguments: Operation.all.filter(\.isList))
  func `foreign resources are not listed`(_ operation: Operation) async throws {
    for (owner, other) in Self.pairs {
      let place = try InProcessAPI(isTimeStill: true)
      let things: [InProcessAPI.Resource] = [
        .session, .finishedTask, .file, .configuration, .delivery, .group,
      ]
      for thing in things { _ = try await place.make(thing, of: owner) }
      let mark = [InProcessAPI.mark(owner)]
      #expect(try await !place.send(call(operation, [:]), from: other).contains(anyOf: mark))
      #expect(try await place.send(call(operation, [:]), from: owner).contains(anyOf: mark))
      // The same holds if the other tenant has resources of its own, and for each page.
      for thing in things { _ = try await place.make(thing, of: other) }
      var target = operation.path + "?limit=1"
      while true {
        let page = try await place.send(Call(method: "GET", target: target), from: other)
        #expect(page.status == 200 && !page.contains(anyOf: mark))
        guard let cursor = page.json["nextCursor"]?.string else { break }
        target = operation.path + "?limit=1&cursor=\(cursor)"
      }
      await place.stop()
    }
  }

  @Test(
    arguments: Operation.all.filter(\.isStream),
    ["", "?after=0", "?data=inline", "?after=0&data=inline&progress=false"])
  func `foreign events are not streamed`(_ operation: Operation, _ query: String) async throws {
    for (owner, other) in Self.pairs {
      let place = try InProcessAPI(isTimeStill: true)
      let isReplay = query.contains("after")
      if isReplay { _ = try await place.make(.finishedTask, of: owner) }
      let streams = [
        (other, owner, try await place.open(operation.path + query, from: other)),
        (owner, other, try await place.open(operation.path + query, from: owner)),
      ]
      if !isReplay { _ = try await place.make(.finishedTask, of: owner) }
      _ = try await place.make(.finishedTask, of: other)
      _ = try await place.make(.finishedTask, of: owner)
      for (reader, stranger, stream) in streams {
        // Reads up to the end of one of the reader's own tasks.
        let text = try await InProcessAPI.read(stream) { text in
          text.contains(InProcessAPI.mark(reader)) && text.contains("event: task.didComplete")
        }
        let told = String(decoding: text, as: UTF8.self)
        #expect(!told.contains(InProcessAPI.mark(stranger)))
        stream.close()
      }
      await place.stop()
    }
  }

  /// Commands for many tasks create nothing.
  private static let commands: Set = [
    "cancelTasks", "suspendTasks", "resumeTasks", "retryTasks", "deleteTasks",
  ]

  @Test(
    arguments: Operation.all.filter {
      $0.takesKey && Set($0.names).isSubset(of: ["session"]) && !commands.contains($0.id)
    })
  func `equal keys of two tenants are independent`(_ operation: Operation) async throws {
    for (owner, other) in Self.pairs {
      let place = try InProcessAPI(isTimeStill: true)
      // The session in the path belongs to the tenant that sends the request.
      let ids = ["session": "ses_shared"]
      var call = try call(operation, ids)
      call.key = "k"
      let first = try await place.send(call, from: owner)
      let second = try await place.send(call, from: other)
      #expect((200...299).contains(first.status) && second.status == first.status, "\(first) \(second)")
      if operation.id != "createConfiguration" { #expect(second.json["id"] != first.json["id"]) }
      for (answer, tenant) in [(first, owner), (second, other)] {
        #expect(try await place.send(call, from: tenant).text == answer.text)
        let made = Call(method: "GET", target: try #require(answer.fields["location"]))
        #expect(try await place.send(made, from: tenant).status == 200, "\(answer)")
      }
      await place.stop()
    }
  }

  /// A reference to another tenant's resource fails like a reference to an unknown resource.
  @Test func `foreign resource cannot be used in a request`() async throws {
    for (owner, other) in Self.pairs {
      let place = try InProcessAPI(isTimeStill: true)
      let ids = try await [
        "file": place.make(.file, of: owner)["file"], "name": place.make(.configuration, of: owner)["name"],
        "task": place.make(.finishedTask, of: owner)["task"],
      ].compactMapValues(\.self)
      let own = try await place.make(.decision, of: other)
      let url = #""url":"\#(place.url("/", of: other))""#
      let before = try await place.picture(of: owner, ids)
      let calls = [
        ("/v1/tasks", #"{"kind":"upload","request":{\#(url),"body":{"file":"{file}"}}}"#),
        ("/v1/sessions", #"{"configuration":{"named":"{name}"}}"#),
        ("/v1/files", #"{"fromTask":"{task}"}"#),
        ("/v1/decisions/\(own["decision"] ?? "")", #"{"request":{\#(url),"body":{"file":"{file}"}}}"#),
      ]
      func send(
        _ target: String, _ body: String, _ ids: [String: String], from tenant: Tenant
      ) async throws -> InProcessAPI.Answer {
        let filled = ids.reduce(body) { $0.replacing("{\($1.key)}", with: $1.value) }
        let call = Call(method: "POST", target: target, body: filled, type: "application/json")
        return try await place.send(call, from: tenant).replacing(ids)
      }
      for (target, body) in calls {
        let stolen = try await send(target, body, ids, from: other)
        #expect([400, 404].contains(stolen.status), "\(target): \(stolen)")
        #expect(try await send(target, body, Self.unknown, from: other) == stolen)
      }
      #expect(try await place.picture(of: owner, ids) == before)
      for (target, body) in calls where !target.contains("decisions") {
        #expect(try await send(target, body, ids, from: owner).status == 201, "\(target)")
      }
      await place.stop()
    }
  }

  @Test func `resume data are valid for their tenant only`() async throws {
    for (owner, other) in Self.pairs {
      let place = try InProcessAPI(isTimeStill: true)
      let task = try await place.make(.partialDownload, of: owner)["task"] ?? ""
      let reply = try await place.send(
        Call(method: "GET", target: "/v1/tasks/\(task)/resume-data"), from: owner)
      let data = try #require(reply.json["resumeData"]?.string)
      func create(_ data: String, from tenant: Tenant) async throws -> InProcessAPI.Answer {
        let body = #"{"kind":"download","resumeData":"\#(data)"}"#
        let call = Call(method: "POST", target: "/v1/tasks", body: body, type: "application/json")
        return try await place.send(call, from: tenant)
      }
      let stolen = try await create(data, from: other)
      let forged = try await create("AAAA", from: other)
      #expect(stolen.status == 400 && stolen == forged)
      #expect(try await create(data, from: owner).status == 201)
      await place.stop()
    }
  }
}
