import Foundation
import JSON
import TestSupport
import Testing

/// `--destination-directory` and `destination`, through the program.
@Suite(.serialized, .blocking, .endsInTime) struct DestinationTests {
  private let media = TemporaryDirectory.make("ferry-media")
  private let origin = TestOrigin { request, socket in
    try socket.write(
      TestOrigin.reply("200 OK", [UInt8](repeating: 7, count: Int(request.path.dropFirst()) ?? 5)))
    return true
  }

  private func create(
    _ file: String, at ferry: FerryProcess, path: String = "/100000", session: String = "ses_shared",
    members: String = "", _ fields: [(String, String)] = []
  ) throws -> HTTPReply {
    try ferry.call(
      "POST", "/v1/sessions/\(session)/tasks",
      #"{"kind":"download","resume":true,"request":{"url":"\#(origin.url)\#(path)"},"destination":{"file":"\#(file)"}\#(members)}"#,
      fields)
  }

  private func contents(_ path: String) -> [UInt8]? {
    FileManager.default.contents(atPath: path).map { Array($0) }
  }
  private func names(_ directory: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: directory).sorted()) ?? []
  }
  private func mode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }
  private static let body = [UInt8](repeating: 7, count: 100_000)

  @Test func `download becomes a file in sessions of every type`() throws {
    let place = try BackgroundFixture(options: [
      "--destination-directory", media, "--destination-mode", "0604",
    ])
    let ephemeral = try place.ferry.call("POST", "/v1/sessions", #"{"type":"ephemeral"}"#).json.id
    for (name, session) in [
      ("shared", "ses_shared"), ("ephemeral", ephemeral), ("background", try place.session()),
    ] {
      for (path, size) in [("/5", 5), ("/100000", 100_000)] {
        let file = "\(media)/\(name)/\(size)"
        let task = try place.ferry.end(
          of: create(file, at: place.ferry, path: path, session: session).json.id)
        #expect(
          task["outcome"]?.string == "succeeded" && task["destination"]?["file"]?.string == file, "\(task)")
        #expect(try contents(file) == [UInt8](repeating: 7, count: size) && mode(file) == 0o604)
        #expect(try place.ferry.body(of: task.id).count == size)
        // The check before the request also runs in the worker.
        let count = origin.requests.count
        #expect(
          try place.ferry.end(of: create(file, at: place.ferry, path: path, session: session).json.id)
            .errorCode == 6)
        #expect(origin.requests.count == count)
      }
      #expect(try names("\(media)/\(name)") == ["100000", "5"] && mode("\(media)/\(name)") == 0o705)
    }
    #expect(try BodyFiles.names(in: place.directory).isEmpty)
  }

  @Test func `download becomes a file of another file system`() throws {
    let memory = TemporaryDirectory.make("ferry-media", inMemory: true)
    let ferry = try FerryProcess(options: [
      "--destination-directory", memory, "--destination-directory", media,
    ])
    let wrong = #","expected":{"sha256":"\#(String(repeating: "0", count: 64))"}"#
    #expect(try ferry.end(of: create(memory + "/a", at: ferry, members: wrong).json.id).errorCode == 5)
    #expect(names(memory).isEmpty)
    #expect(try ferry.end(of: create(memory + "/a", at: ferry).json.id)["outcome"]?.string == "succeeded")
    #expect(contents(memory + "/a") == Self.body && names(memory) == ["a"])
    #expect(names(ferry.directory + "/destinations").isEmpty)
  }

  @Test func `directory belongs to one tenant`() throws {
    let (a, b) = (media + "/a", media + "/b")
    for path in [a, b] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    let ferry = try FerryProcess(
      options: ["--destination-directory", "a=\(a)", "--destination-directory", "b=\(b)"],
      environment: ["FERRY_TOKENS": "a token-a,b token-b"])
    func reply(_ file: String, of tenant: String) throws -> HTTPReply {
      try create(file, at: ferry, [("Authorization", "Bearer token-\(tenant)")])
    }
    #expect(try reply(a + "/x", of: "a").status == 201 && reply(b + "/x", of: "b").status == 201)
    for (file, tenant) in [(b + "/y", "a"), (a + "/y", "b"), ("/etc/y", "a")] {
      let refused = try reply(file, of: tenant)
      #expect(
        refused.status == 403 && refused.pointers == ["/destination/file"] && !refused.text.contains(media))
    }
  }

  @Test func `unusable directory or tenant is refused at the start`() throws {
    let data = TemporaryDirectory.make("ferry-data")
    try Data().write(to: URL(fileURLWithPath: data + "/file"))
    for (options, environment, part) in [
      ([media + "/missing"], [:], "does not exist; create it"), ([data + "/file"], [:], "is not a directory"),
      (["relative"], [:], "absolute path"), (["a=" + media], [:], "there are no tokens"),
      ([media], ["FERRY_TOKENS": "a secret"], "names no tenant"),
      (["a=" + media, "b=\(media)/b"], ["FERRY_TOKENS": "a secret"], "overlap"),
    ] as [([String], [String: String], String)] {
      for command in ["serve", "config"] {
        let result = try FerryCommand.run(
          [command, "--data-directory", data, "--listen", "127.0.0.1:0"]
            + options.flatMap { ["--destination-directory", $0] }, environment: environment)
        #expect(result.status != 0 && result.output.contains("destination-directory: "), "\(result)")
        #expect(result.output.contains(part) && result.output.split(separator: "\n").count == 1, "\(result)")
      }
    }
  }

  @Test func `directory that the user cannot write is refused at the start`() throws {
    let result = try FerryCommand.run(
      ["config", "--destination-directory", media], wrapper: FerryCommand.asNobody)
    #expect(geteuid() != 0 || result.status != 0 && result.output.contains("\(media) cannot be"), "\(result)")
  }

  /// Another process swaps a directory and a link to a foreign directory while downloads end.
  @Test func `swapped directory never leads out`() throws {
    let outside = TemporaryDirectory.make("outside")
    try FileManager.default.createDirectory(atPath: media + "/d", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: media + "/link", withDestinationPath: outside)
    let swapper = NameSwapper(media + "/d", media + "/link")
    defer { swapper.stop() }
    let ferry = try FerryProcess(options: ["--destination-directory", media])
    let ids = try (0..<200).map { try create("\(media)/d/\($0)", at: ferry).json.id }
    var outcomes: [String: Int] = [:]
    for id in ids {
      let task = try ferry.end(of: id)
      outcomes[task["outcome"]?.string ?? "", default: 0] += 1
      if task["outcome"]?.string == "failed" { #expect(task.errorCode == 6) }
    }
    #expect(names(outside).isEmpty, "\(outcomes)")
    #expect(outcomes["succeeded", default: 0] + outcomes["failed", default: 0] == 200)
  }
}
