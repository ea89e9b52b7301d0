import Foundation
import JSON
import TestSupport
import Testing

/// A client that only polls: it finds tasks by filters, commands many of them, and waits for groups.
@Suite(.serialized, .blocking, .endsInTime) struct PollingClientTests {
  private let directory = TemporaryDirectory.make("ferry-polling")
  private let origin = TestOrigin { request, socket in
    if request.path == "/silent" { return try socket.readSome() != nil }
    try socket.write(TestOrigin.reply("200 OK", Array("hello".utf8)))
    return true
  }

  private func create(
    _ ferry: FerryProcess, _ path: String, _ members: String, in session: String = "ses_shared"
  ) throws -> String {
    let body = #"{"kind":"data","request":{"url":"\#(origin.url)\#(path)"}\#(members)}"#
    return try ferry.call("POST", "/v1/sessions/\(session)/tasks", body).json.id
  }

  private func list(_ ferry: FerryProcess, _ query: String) throws -> [String] {
    try ferry.call("GET", "/v1/tasks?\(query)").json["items"]?.elements?.map(\.id) ?? []
  }

  @Test func `tasks are found, commanded and deleted`() throws {
    let ferry = try FerryProcess()
    let tasks = try ["a", "b"].map { try create(ferry, "/x", #","labels":{"name":"\#($0)"}"#) }
    #expect(try list(ferry, "label=name:b&order=newest") == [tasks[1]])
    #expect(try list(ferry, "url=*%2Fx&order=newest") == tasks.reversed())
    #expect(try ferry.call("POST", "/v1/tasks/cancel", "{}").status == 422)
    let started = try ferry.call("POST", "/v1/tasks/resume", #"{"neverResumed":true}"#).json
    #expect(started["changed"]?.integer == 2 && started["failed"]?.integer == 0)
    for task in tasks {
      let ended = try ferry.call("GET", "/v1/tasks/\(task)", nil, [("Prefer", Patience.preference)]).json
      #expect(ended["outcome"]?.string == "succeeded")
    }
    let page = try ferry.call(
      "GET", "/v1/events?after=0&types=task.didComplete", nil, [("Accept", "application/json")]
    ).json
    #expect(page["items"]?.elements?.compactMap { $0["taskId"]?.string }.sorted() == tasks.sorted())
    #expect(try ferry.call("DELETE", "/v1/tasks/\(tasks[0])").status == 204)
    #expect(try list(ferry, "outcome=succeeded") == [tasks[1]])
    #expect(ferry.terminate() == 0)
  }

  /// The second service takes over from the first, and completes the group.
  @Test func `closed group completes after a crash`() throws {
    let first = try FerryProcess(directory: directory)
    _ = try create(first, "/silent", #","group":"g","resume":true"#)
    let suspended = try create(first, "/x", #","group":"g""#)
    #expect(try first.call("POST", "/v1/groups/g/close").json["state"]?.string == "closed")
    first.kill()
    let second = try FerryProcess(directory: directory)
    _ = try second.call("POST", "/v1/tasks/\(suspended)/cancel")
    let group = try second.call("GET", "/v1/groups/g", nil, [("Prefer", Patience.preference)]).json
    #expect(group["state"]?.string == "completed")
    #expect(group["tasks"]?["failed"]?.integer == 1 && group["tasks"]?["cancelled"]?.integer == 1)
    let ends = try second.call(
      "GET", "/v1/events?after=0&types=group.didComplete", nil, [("Accept", "application/json")]
    ).json
    #expect(ends["items"]?.elements?.map { $0["data"] } == [group])
    #expect(second.terminate() == 0)
  }

  @Test func `lists and commands reach the tasks of every service`() throws {
    let ferries = [try FerryProcess(directory: directory), try FerryProcess(directory: directory)]
    #expect(ferries[0].hasLogged("a service has joined"))
    let kinds = ["default", "ephemeral"]
    var tasks: [String] = []
    for ferry in ferries {
      for kind in kinds {
        let session = try ferry.call("POST", "/v1/sessions", #"{"type":"\#(kind)"}"#).json.id
        tasks.append(try create(ferry, "/silent", #","labels":{"a":"1"}"#, in: session))
      }
    }
    for ferry in ferries {
      #expect(try list(ferry, "label=a:1").sorted() == tasks.sorted())
      #expect(try list(ferry, "label=a:1&limit=3&order=newest") == tasks.sorted().suffix(3).reversed())
    }
    let reply = try ferries[1].call("POST", "/v1/tasks/resume", #"{"labels":{"a":"1"}}"#).json
    // A service commands the ephemeral sessions of others only through those services.
    #expect(reply["failed"]?.integer == 0 && reply["changed"]?.integer == 4, "\(reply)")
    for task in tasks {
      #expect(try ferries[0].call("GET", "/v1/tasks/\(task)").json["state"]?.string == "running")
    }
    #expect(try ferries[0].call("POST", "/v1/tasks/cancel", #"{"all":true}"#).json["changed"]?.integer == 4)
    #expect(ferries.map { $0.terminate() } == [0, 0])
  }

  @Test func `service that does not answer counts as one failure`() throws {
    let ferries = [try FerryProcess(directory: directory), try FerryProcess(directory: directory)]
    #expect(ferries[0].hasLogged("a service has joined"))
    let session = try ferries[0].call("POST", "/v1/sessions", "{}").json.id
    let task = try create(ferries[0], "/silent", #","labels":{"a":"1"}"#, in: session)
    ferries[1].signal(SIGSTOP)
    let reply = try ferries[0].call("POST", "/v1/tasks/cancel", #"{"labels":{"a":"1"}}"#)
    #expect(reply.status == 200, "\(reply.text)")
    #expect(["matched", "changed", "failed"].map { reply.json[$0]?.integer } == [1, 1, 1])
    #expect(try ferries[0].call("GET", "/v1/tasks/\(task)").json["outcome"]?.string == "cancelled")
    ferries[1].kill()
    #expect(ferries[0].terminate() == 0)
  }

  @Test func `stream selects the tasks of a group in every service`() throws {
    let ferries = [try FerryProcess(directory: directory), try FerryProcess(directory: directory)]
    #expect(ferries[0].hasLogged("a service has joined"))
    let stream = try ferries[0].events("/v1/events?group=g&types=task.didComplete,group.didComplete", [])
    var tasks: [String] = []
    for ferry in ferries {
      let session = try ferry.call("POST", "/v1/sessions", "{}").json.id
      for group in ["g", "h"] {
        let task = try create(ferry, "/x", #","resume":true,"group":"\#(group)""#, in: session)
        _ = try ferry.call("GET", "/v1/tasks/\(task)", nil, [("Prefer", Patience.preference)])
        if group == "g" { tasks.append(task) }
      }
    }
    #expect(try ferries[1].call("GET", "/v1/groups/g", nil, [("Prefer", Patience.preference)]).status == 200)
    #expect(try ferries[1].call("POST", "/v1/groups/g/close").json["state"]?.string == "completed")
    var found: [String?] = []
    while found.count < 3, let event = try stream.next() { found.append(event.task) }
    #expect(found == tasks + [nil])
    let page = try ferries[1].call(
      "GET", "/v1/events?after=0&group=g&types=task.didComplete", nil, [("Accept", "application/json")]
    ).json
    #expect(page["items"]?.elements?.map { $0["taskId"]?.string } == tasks)
    #expect(ferries.map { $0.terminate() } == [0, 0])
  }
}
