import Foundation
import JSON
import TestSupport
import Testing

/// A start that would lose data or could not work is refused with one line, and changes nothing.
@Suite(.serialized, .blocking) struct StartRefusalTests {
  private let directory = TemporaryDirectory.make("ferry-start")
  private let origin = TestOrigin { _, socket in
    try socket.write(TestOrigin.reply("200 OK", [UInt8](repeating: 65, count: 100_000)))
    return true
  }

  private func path(_ name: String) -> String { directory + "/" + name }
  private func isThere(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(name)) }
  private func remove(_ name: String) { try? FileManager.default.removeItem(atPath: path(name)) }
  private func size(_ name: String) -> Int {
    ((try? FileManager.default.attributesOfItem(atPath: path(name)))?[.size] as? Int) ?? 0
  }

  /// Fills the data directory with a body, a stored file and a secret, stops the service, and returns the body's task
  /// and the file.
  @discardableResult private func fill() throws -> (task: String, file: String) {
    let ferry = try FerryProcess(directory: directory)
    let task = try ferry.run(origin.url + "/").id
    let file = try ferry.client().send(
      "POST", "/v1/files", Array("kept".utf8), [("Content-Type", "text/plain")]
    ).json.id
    #expect(ferry.terminate() == 0)
    return (task, file)
  }

  private func expectRefusal(
    _ parts: String..., command: String = "serve", wrapper: [String] = [],
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let listen = command == "serve" ? ["--listen", "127.0.0.1:0"] : []
    let result = try FerryCommand.run([command, "--data-directory", directory] + listen, wrapper: wrapper)
    #expect(result.status != 0 && result.status != SIGKILL, "\(result)", sourceLocation: location)
    #expect(result.output.split(separator: "\n").count == 1, "\(result)", sourceLocation: location)
    for part in parts {
      #expect(result.output.contains(part), "\(part): \(result)", sourceLocation: location)
    }
  }

  @Test(arguments: [false, true]) func `missing or empty database is refused`(_ isEmpty: Bool) throws {
    let (task, file) = try fill()
    for suffix in ["", "-wal", "-shm"] { remove("ferry.db" + suffix) }
    if isEmpty { #expect(FileManager.default.createFile(atPath: path("ferry.db"), contents: nil)) }
    try expectRefusal("data-directory: ", "ferry.db is missing or empty", "--new-database")
    try expectRefusal("ferry.db is missing or empty", command: "worker")
    try expectRefusal("ferry.db is missing or empty", command: "rotate-key")
    #expect(BodyFiles.path(task, in: directory) != nil)
    #expect(isThere("files/" + file) && size("ferry.db") == 0)
    // The operator's option. The unknown files are quarantined, so no data is lost.
    let ferry = try FerryProcess(directory: directory, options: ["--new-database"])
    func aside(_ name: String, _ file: String) -> String? {
      let names = (try? FileManager.default.subpathsOfDirectory(atPath: path(name) + "/set-aside")) ?? []
      return names.first { $0.split(separator: "/").last?.hasPrefix(file) == true }
    }
    Patience.wait { aside("files", file) == nil }
    let found = try #require(aside("bodies", task))
    #expect(size("bodies/set-aside/" + found) == 100_000)
    #expect(
      aside("files", file) != nil && BodyFiles.path(task, in: directory) == nil && !isThere("files/" + file))
    // The quarantine may have happened before the service listened.
    #expect(ferry.startLog.contains("quarantined files") || ferry.hasLogged("quarantined files"))
    #expect(ferry.terminate() == 0)
    // The next start has a database and needs no option.
    #expect(try FerryProcess(directory: directory).terminate() == 0)
  }

  @Test func `lone write-ahead log is refused`() throws {
    try fill()
    remove("bodies")
    remove("files")
    remove("ferry.db")
    try Data([1, 2, 3]).write(to: URL(fileURLWithPath: path("ferry.db-wal")))
    try expectRefusal("ferry.db is missing or empty")
    #expect(size("ferry.db-wal") == 3 && !isThere("ferry.db"))
    let ferry = try FerryProcess(directory: directory, options: ["--new-database"])
    let aside = try FileManager.default.subpathsOfDirectory(atPath: path("set-aside"))
    #expect(aside.contains { $0.hasSuffix("/ferry.db-wal") })
    #expect(ferry.terminate() == 0)
  }

  @Test func `database of a newer version is refused`() throws {
    try fill()
    try OfflineDatabase.execute(
      "INSERT INTO grdb_migrations (identifier) VALUES ('901 tomorrow'); PRAGMA user_version = 901",
      in: directory)
    for command in ["serve", "worker", "rotate-key"] {
      try expectRefusal("newer version", "901 tomorrow", command: command)
    }
  }

  @Test func `database from before the first release is refused`() throws {
    try fill()
    try OfflineDatabase.execute(
      """
      DELETE FROM grdb_migrations; INSERT INTO grdb_migrations (identifier) VALUES ('22 the last before');
      PRAGMA user_version = 22
      """, in: directory)
    for command in ["serve", "worker", "rotate-key"] {
      try expectRefusal("before 0.1.0", "another directory", command: command)
    }
  }

  @Test func `missing or wrong key is refused`() throws {
    try fill()
    let key = try String(contentsOfFile: path("secret-key"), encoding: .utf8)
    remove("secret-key")
    try expectRefusal("secret-key-file: ", "restore the key file")
    #expect(!isThere("secret-key"))
    let other = Data((0..<32).map { UInt8($0) }).base64EncodedString() + "\n"
    try other.write(toFile: path("secret-key"), atomically: false, encoding: .utf8)
    try expectRefusal("secret-key-file: ", "restore the key file")
    try expectRefusal("secret-key-file: ", "restore the key file", command: "worker")
    try expectRefusal("secret-key-file: ", "restore the key file", command: "rotate-key")
    #expect(try String(contentsOfFile: path("secret-key"), encoding: .utf8) == other)
    // A further key before the right one is harmless.
    try (other + key).write(toFile: path("secret-key"), atomically: false, encoding: .utf8)
    #expect(try FerryProcess(directory: directory).terminate() == 0)
  }

  @Test func `data directory that cannot be written is refused`() throws {
    try fill()
    let mount = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && exec \"$@\""
    let readOnly = ["unshare", "-m", "sh", "-c", mount, directory]
    try expectRefusal("data-directory: \(directory) cannot be written: Read-only", wrapper: readOnly)
    FerryCommand.giveToNobody(directory)
    chmod(directory, 0o500)
    try expectRefusal(
      "data-directory: \(directory) cannot be written: Permission denied", wrapper: FerryCommand.asNobody)
    chmod(directory, 0o700)
  }

  /// All files belong to the user, except one.
  @Test(arguments: ["ferry.db", "bodies", "files"]) func `foreign file is refused`(_ name: String) throws {
    try fill()
    for other in [""] + (try FileManager.default.contentsOfDirectory(atPath: directory)) where other != name {
      FerryCommand.giveToNobody(path(other))
    }
    chmod(path(name), name == "ferry.db" ? 0o444 : 0o555)
    try expectRefusal(
      "data-directory: \(path(name)) cannot be written", wrapper: FerryCommand.asNobody)
    chmod(path(name), 0o700)
  }

  @Test func `key rotation is refused while a service runs`() throws {
    let ferry = try FerryProcess(directory: directory)
    try expectRefusal("data-directory: \(directory) is in use by another process", command: "rotate-key")
    #expect(try ferry.call("GET", "/readyz").status == 200)
  }

  @Test(arguments: ["", "bodies", "ferry.db"]) func `service without its directory is not ready`(
    _ name: String
  ) throws {
    let ferry = try FerryProcess(directory: directory)
    #expect(try ferry.call("GET", "/readyz").status == 200)
    let elsewhere = directory + "-" + name + "-elsewhere"
    try FileManager.default.moveItem(atPath: path(name), toPath: elsewhere)
    let reply = try ferry.call("GET", "/readyz")
    #expect(reply.status == 503 && reply.json["detail"]?.string?.contains("removed or replaced") == true)
    // A new directory at the same path does not make the service ready.
    try FileManager.default.createDirectory(atPath: path(name), withIntermediateDirectories: true)
    #expect(try ferry.call("GET", "/readyz").status == 503)
    try FileManager.default.removeItem(atPath: path(name))
    try FileManager.default.moveItem(atPath: elsewhere, toPath: path(name))
    #expect(try ferry.call("GET", "/readyz").status == 200)
  }

  /// After a stop, the database file alone is a complete backup.
  @Test(arguments: [false, true]) func `stop leaves an empty log`(_ hasWorker: Bool) throws {
    let ferry = try FerryProcess(directory: directory)
    if hasWorker {
      _ = try ferry.background("a", #","delegate":{}"#)
      // The worker's first writes must come before the stop.
      _ = try ferry.worker.waitUntilItWorks()
    }
    for _ in 0..<5 { _ = try ferry.run(origin.url + "/") }
    #expect(size("ferry.db-wal") > 0)
    #expect(ferry.terminate() == 0)
    #expect(size("ferry.db-wal") == 0)
  }
}
