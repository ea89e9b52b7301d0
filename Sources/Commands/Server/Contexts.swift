internal import FerryClient
internal import FoundationEssentials
internal import Glibc
internal import JSON
internal import Processes
internal import EventLoop
internal import Limits

/// The named services of a user, in a file that only the user can read.
struct Contexts: Equatable {
  struct Entry: Equatable {
    let server: String
    let token: String?
  }

  var current: String?
  var entries: [String: Entry] = [:]

  static func path(_ environment: [String: String]) -> String {
    let base = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
    return "\(base ?? (environment["HOME"] ?? "") + "/.config")/ferry/contexts.json"
  }

  init() {}

  /// Reads the file. A missing file has no contexts.
  init(path: String) throws(CommandFailure) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else {
      guard errno == ENOENT else {
        throw CommandFailure(.settings, "\(path) cannot be read: \(ProcessHandle.text(ofError: errno))")
      }
      return
    }
    defer { close(descriptor) }
    var information = stat()
    guard fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG,
      information.st_size <= ClientLimits.contextsBytes.value
    else { throw CommandFailure(.settings, "\(path) is not a file of contexts") }
    guard information.st_mode & 0o077 == 0, information.st_uid == geteuid() else {
      throw CommandFailure(
        .settings, "\(path) has tokens and must be readable only by you; run `chmod 600 '\(path)'`")
    }
    var bytes = [UInt8](repeating: 0, count: Int(information.st_size))
    let count = read(descriptor, &bytes, bytes.count)
    let json: JSONValue
    do { json = try JSONParser.parse(Array(bytes.prefix(max(0, count)))) } catch {
      throw CommandFailure(.settings, "\(path) is not a file of contexts: \(error)")
    }
    current = json["current"]?.string
    for member in json["contexts"]?.members ?? [] {
      guard let server = member.value["server"]?.string else { continue }
      entries[member.name] = Entry(server: server, token: member.value["token"]?.string)
    }
  }

  /// Replaces the file.
  func write(to path: String) throws(CommandFailure) {
    var writer = JSONWriter()
    writer.object { writer in
      writer.field("current", current)
      writer.key("contexts")
      writer.object { writer in
        for (name, entry) in entries.sorted(by: { $0.key < $1.key }) {
          writer.key(name)
          writer.object { writer in
            writer.field("server", entry.server)
            if let token = entry.token { writer.field("token", token) }
          }
        }
      }
    }
    try PrivateFile.write(writer.bytes + [0x0A], to: path)
  }
}
