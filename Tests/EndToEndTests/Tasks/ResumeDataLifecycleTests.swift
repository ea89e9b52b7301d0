import Foundation
import JSON
import TestSupport
import Testing

/// Resume data across restarts of the service, and with a real server.
@Suite(.serialized, .blocking) struct ResumeDataLifecycleTests {
  private let origin = ResumableOrigin()
  private let size = Int64(ResumableOrigin.body.count)

  // MARK: Restarts

  @Test func `resume data survives the service`() throws {
    let first = try FerryProcess()
    origin.change { $0.stop = 300_000 }
    let data = try first.cancelProducingResumeData(first.stalled(origin.url, at: 300_000)).string
    first.kill()
    origin.change { $0.stop = nil }
    let second = try FerryProcess(directory: first.directory)
    let task = try second.download(resuming: #require(data))
    #expect(try second.offsets(of: task.id) == [[300_000, size]])
    #expect(try second.body(of: task.id) == ResumableOrigin.body)
  }

  @Test(arguments: ["running", "suspended"])
  func `interrupted download resumes after a restart`(_ state: String) throws {
    let first = try FerryProcess()
    origin.change { $0.stop = 300_000 }
    let id = try first.stalled(origin.url, at: 300_000)
    let written = {
      BodyFiles.path("\(id).part", in: first.directory).flatMap {
        try? FileManager.default.attributesOfItem(atPath: $0)[.size] as? Int
      }
    }
    _ = try first.poll("/v1/tasks/\(id)") { _ in written() == 300_000 }
    #expect(written() == 300_000)
    if state == "suspended" { #expect(try first.act("suspend", id) == state) }
    // The reply shows that the task's state is committed.
    #expect(try first.call("PATCH", "/v1/tasks/\(id)", #"{"description":"stored"}"#).status == 200)
    first.kill()
    origin.change { $0.stop = nil }

    let second = try FerryProcess(directory: first.directory)
    var task = try state == "running" ? second.end(of: id) : second.task(id)
    if state == "running" {
      #expect(task.errorCode == -1005 && task["error"]?["resumeDataAvailable"]?.bool == true)
      task = try second.download(resuming: #require(try second.resumeData(of: id)))
    } else {
      #expect(task["state"]?.string == "suspended")
      #expect(try second.act("resume", id) == "running")
      task = try second.end(of: id)
    }
    #expect(task["error"] == .null && origin.requests.last?["Range"] == "bytes=300000-")
    #expect(try second.offsets(of: task.id) == [[300_000, size]])
    #expect(try second.body(of: task.id) == ResumableOrigin.body)
  }

  // MARK: Key rotation

  @Test func `resume data of an old key works until the key is dropped`() throws {
    let first = try FerryProcess()
    origin.change { $0.stop = 300_000 }
    let data = try #require(
      try first.cancelProducingResumeData(first.stalled(origin.url, at: 300_000)).string)
    first.kill()
    origin.change { $0.stop = nil }
    try rotateKey(first.directory)
    let second = try FerryProcess(directory: first.directory)
    let task = try second.download(resuming: data)
    #expect(try second.offsets(of: task.id) == [[300_000, size]])
    #expect(try second.body(of: task.id) == ResumableOrigin.body)
    second.kill()
    try rotateKey(first.directory, "--drop-old")
    let third = try FerryProcess(directory: first.directory)
    let body = #"{"kind":"download","resume":true,"resumeData":"\#(data)"}"#
    let reply = try third.call("POST", "/v1/tasks", body)
    #expect(reply.status == 400)
    #expect(reply.json["errors"]?.elements?.compactMap { $0["pointer"]?.string } == ["/resumeData"])
  }

  private func rotateKey(_ directory: String, _ options: String...) throws {
    let result = try FerryCommand.run(["rotate-key", "--data-directory", directory] + options)
    #expect(result.status == 0, "\(result)")
  }

  // MARK: A real server

  @Test(arguments: [NginxServer.Site.plain, .good])
  func `download from nginx resumes`(_ face: NginxServer.Site) throws {
    let count = 5_000_000
    let nginx = try NginxServer(files: ["large.bin": count])
    let ferry = try FerryProcess(options: ["--ca-file", nginx.authorityFile])
    let url = nginx.url(face, "/large.bin", host: face == .plain ? "127.0.0.1" : "localhost")
    let body =
      #"{"kind":"download","resume":true,"maximumBytesPerSecond":500000,"request":{"url":"\#(url)"}}"#
    let id = try ferry.call("POST", "/v1/tasks", body).json.id
    _ = try ferry.poll("/v1/tasks/\(id)") { $0.received > 200_000 || $0["state"]?.string == "completed" }
    let data = try #require(try ferry.cancelProducingResumeData(id).string)
    let offset = try ferry.task(id).received
    #expect(offset > 200_000 && offset < Int64(count))
    let task = try ferry.download(resuming: data)
    #expect(task["error"] == .null && task["response"]?["status"]?.integer == 206)
    #expect(try ferry.offsets(of: task.id) == [[offset, Int64(count)]])
    #expect(try ferry.body(of: task.id) == NginxServer.contents(count))
  }
}
