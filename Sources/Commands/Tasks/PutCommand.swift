internal import ArgumentParser
internal import FerryClient
internal import Glibc
internal import JSON
internal import Processes
internal import EventLoop

/// The command `ferry put`.
struct PutCommand: ClientCommand {
  static let configuration = CommandConfiguration(
    commandName: "put", abstract: "Upload a file.",
    discussion: """
      The service stores the file first, so that it can repeat a failed attempt. The exit status names the cause of a failure, as \
      that of `ferry get` does.
      """)
  private static let chunk = 256 << 10
  private static let wait = 30

  @Argument(help: "File to upload; - for standard input.", completion: .file())
  var file: String
  @Argument(help: "URL that receives the file.")
  var url: String
  @Option(name: [.customShort("X"), .long], help: "Method of the request.")
  var method = "PUT"
  @Option(
    name: [.customShort("H"), .long],
    help: ArgumentHelp("Header field of the request, 'Name: value'.", valueName: "field"))
  var header: [String] = []
  @Option(help: "Maximum number of attempts.")
  var tries = OptionText.standardTries
  @Flag(help: "Create the task, print its id, and end.")
  var detach = false
  @Flag(help: "Print the ended task as one line of JSON.")
  var json = false
  @OptionGroup var service: ServerOptions

  func validate() throws {
    try OptionText.checkTries(tries)
    _ = try OptionText.fields(header)
  }

  func run(_ connection: ServiceConnection) async throws(CommandFailure) {
    let stored = try await store(on: connection)
    var task = try await connection.reply(ServiceRequest("POST", "/v1/tasks", json: creation(stored)))
    let id = task["id"]?.string ?? ""
    guard !detach else { return try Terminal.output([id]) }
    while task["state"]?.string != "completed" {
      var request = ServiceRequest("GET", "/v1/tasks/\(id)", fields: [("Prefer", "wait=\(Self.wait)")])
      request.timeout = .seconds(2 * Self.wait)
      task = try await connection.reply(request)
    }
    _ = try? await connection.send(ServiceRequest("DELETE", "/v1/files/\(stored)"))
    if json { try Terminal.output([JSONLine.text(task)]) }
    if let failure = TaskText(json: task).failure {
      throw CommandFailure(failure.cause, "\(url): \(failure.message)")
    }
    guard !json else { return }
    let size = Quantities.bytes(task["progress"]?["countOfBytesSent"]?.integer ?? 0)
    let status = task["response"]?["status"]?.integer.map { HTTPStatusText.of(Int($0)) } ?? ""
    try Terminal.output(["uploaded \(PlainText.safe(file)) (\(size)): \(status)"])
  }

  /// Stores the file in the service and returns its id.
  private func store(on connection: ServiceConnection) async throws(CommandFailure) -> String {
    let descriptor = file == "-" ? 0 : open(file, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw CommandFailure(.file, "\(file): \(ProcessHandle.text(ofError: errno))")
    }
    defer { if descriptor != 0 { close(descriptor) } }
    var information = stat()
    guard fstat(descriptor, &information) == 0, information.st_mode & S_IFMT != S_IFDIR else {
      throw CommandFailure(.file, "\(file) is a directory; name a file")
    }
    let isRegular = information.st_mode & S_IFMT == S_IFREG
    let path = file
    var request = ServiceRequest(
      "POST", "/v1/files", fields: [("Content-Type", "application/octet-stream")],
      body: .producer(length: isRegular ? Int64(information.st_size) : nil) {
        try Self.chunk(of: descriptor, path)
      })
    request.timeout = nil
    let reply = try await connection.reply(request)
    guard let id = reply["id"]?.string else {
      throw CommandFailure(.unreachable, "the service returned no file")
    }
    return id
  }

  private static func chunk(of descriptor: Int32, _ path: String) throws -> [UInt8]? {
    guard let bytes = DescriptorTransfer.read(descriptor, upTo: chunk) else {
      throw CommandFailure(.file, "\(path): \(ProcessHandle.text(ofError: errno))")
    }
    return bytes.isEmpty ? nil : bytes
  }

  private func creation(_ stored: String) -> [UInt8] {
    // `validate` has checked them.
    let fields = (try? OptionText.fields(header)) ?? []
    var writer = JSONWriter()
    writer.object { writer in
      writer.field("kind", "upload")
      writer.key("request")
      writer.object { writer in
        writer.field("url", GetPlan.withScheme(url))
        writer.field("method", method)
        writer.key("body")
        writer.object { $0.field("file", stored) }
        if !fields.isEmpty { writer.field("headers", fields) }
      }
      writer.field("resume", true)
      writer.field("failOnStatus", true)
      writer.key("retry")
      writer.object { $0.field("maximumAttempts", Int64(tries)) }
    }
    return writer.bytes
  }
}
