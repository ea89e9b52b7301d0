internal import Crypto
internal import EventLoop
internal import FoundationEssentials
internal import Glibc
internal import JSON
internal import Processes
internal import TransferModel

/// The state of `ferry get` for one target directory. It exists until all files are done.
final class GetState: Sendable {
  /// The known place of a file.
  struct Record: Sendable, Equatable {
    let name: String
    /// `nil` if the file was not finished.
    let file: TransferItem.PlacedFile?
  }

  /// The target directory, absolute.
  let target: String
  let path: String
  /// The digest of the target directory, which labels the tasks.
  let label: String
  private let lock: ProcessLock
  /// The places that earlier commands have recorded.
  let records: [String: Record]
  /// The digests of the options of each file's latest task.
  private let options: [String: String]

  var dataDirectory: String { path + "/data" }
  var serviceLog: String { path + "/service.log" }
  var serviceFile: String { path + "/service" }
  private var journal: String { path + "/files" }

  /// Opens the state, and locks it against other commands.
  init(target: String, environment: [String: String]) throws(CommandFailure) {
    self.target = target
    label = String(Self.digest(target).prefix(32))
    let base = environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
    let home = environment["HOME"] ?? ""
    guard base != nil || home.hasPrefix("/") else {
      throw CommandFailure(.settings, "neither XDG_STATE_HOME nor HOME is an absolute path; set one of them")
    }
    path = "\(base ?? home + "/.local/state")/ferry/\(label)"
    try PrivateFile.makeDirectory(path)
    guard let lock = ProcessLock(path: path + "/lock", version: "get") else {
      let owner = ProcessLock.owner(path: path + "/lock")
      throw CommandFailure(
        .file,
        "another `ferry get`\(owner.map { " (process \($0.pid))" } ?? "") downloads into \(target); wait for it, or use another directory"
      )
    }
    self.lock = lock
    if !FileManager.default.fileExists(atPath: path + "/target") {
      try PrivateFile.write(Array((target + "\n").utf8), to: path + "/target")
    }
    records = Self.records(in: path + "/files", target: target)
    options = Self.options(in: path + "/options")
  }

  /// Returns the identity of a URL with its place, which labels its task.
  static func key(url: String, output: String?) -> String {
    String(digest(url + "\n" + (output ?? "")).prefix(32))
  }

  private static func digest(_ text: String) -> String { digest(Array(text.utf8)) }

  private static func records(in journal: String, target: String) -> [String: Record] {
    var records: [String: Record] = [:]
    guard let text = try? String(contentsOfFile: journal, encoding: .utf8) else { return records }
    for line in text.split(separator: "\n") {
      // The last line may be incomplete after a crash.
      guard let json = try? JSONParser.parse(Array(line.utf8)), let key = json["key"]?.string,
        let name = json["name"]?.string
      else { continue }
      var file: TransferItem.PlacedFile?
      if let size = json["size"]?.integer, let digest = json["sha256"]?.string {
        file = .init(path: Self.file(name, in: target), size: size, sha256: digest)
      }
      records[key] = Record(name: name, file: file)
    }
    return records
  }

  /// Returns the path of a name in the target directory.
  func file(_ name: String) -> String { Self.file(name, in: target) }

  static func file(_ name: String, in target: String) -> String {
    if name.hasPrefix("/") { return name }
    return target == "/" ? "/" + name : target + "/" + name
  }

  /// Records the place of a file, before the file exists and after it is finished.
  func record(_ key: String, name: String, file: TransferItem.PlacedFile? = nil) throws(CommandFailure) {
    var writer = JSONWriter()
    writer.object { writer in
      writer.field("key", key)
      writer.field("name", name)
      if let file {
        writer.field("size", file.size)
        writer.field("sha256", file.sha256)
      }
    }
    try append(writer.bytes + [0x0A], to: journal)
  }

  private func append(_ bytes: [UInt8], to path: String) throws(CommandFailure) {
    let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    defer { if descriptor >= 0 { close(descriptor) } }
    guard descriptor >= 0, DescriptorTransfer.writeAll(bytes, to: descriptor) else {
      throw CommandFailure(.file, "\(path) cannot be written: \(ProcessHandle.text(ofError: errno))")
    }
  }

  // MARK: Options

  private static func options(in file: String) -> [String: String] {
    guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { return [:] }
    let words = text.split(separator: "\n").map { $0.split(separator: " ") }
    return Dictionary(words.compactMap { $0.count == 2 ? (String($0[0]), String($0[1])) : nil }) { $1 }
  }

  /// Whether the latest task of a file was created with other options, or with unknown ones.
  func hasOtherOptions(_ key: String, _ creation: @autoclosure () -> [UInt8]) -> Bool {
    options[key].map { $0 != Self.digest(creation()) } ?? true
  }

  /// Records the options of tasks before they are created.
  /// - Parameter creations: the creation of each task, by key.
  func record(_ creations: [(key: String, creation: [UInt8])]) throws(CommandFailure) {
    let lines = creations.map { "\($0.key) \(Self.digest($0.creation))\n" }
    try append(Array(lines.joined().utf8), to: path + "/options")
  }

  private static func digest(_ bytes: [UInt8]) -> String { Hexadecimal.text(Array(SHA256.hash(data: bytes))) }

  // MARK: Files

  /// Returns the finished files that still exist.
  func finishedFiles() -> [(key: String, file: TransferItem.PlacedFile)] {
    records.compactMap { key, record in
      guard let file = record.file else { return nil }
      var information = stat()
      guard stat(file.path, &information) == 0, information.st_mode & S_IFMT == S_IFREG,
        Int64(information.st_size) == file.size
      else { return nil }
      return (key, file)
    }
  }

  /// Deletes the state.
  func remove() { try? FileManager.default.removeItem(atPath: path) }
}
