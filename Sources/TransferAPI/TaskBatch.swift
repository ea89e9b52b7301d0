internal import HTTPServer
internal import JSON
internal import TransferModel
internal import TransferService

/// Many tasks at once, one a line of NDJSON. A line that is wrong fails alone; each line gets one line of reply, in
/// the same order.
struct TaskBatch {
  let service: TransferService
  let session: SessionID
  /// Tasks that share a commit: few enough that the first start while later lines are still being read.
  private static let groupSize = 256

  init(service: TransferService, session: SessionID) {
    self.service = service
    self.session = session
  }

  /// One line: what to create, or why not.
  private enum Line {
    case specification(TaskSpecification)
    case problem(Problem)
  }

  /// Creates group by group while the body arrives.
  func create(from body: RequestBody) async throws -> ServerResponse {
    var splitter = LineSplitter(maximumLine: APILimits.batchLineBytes)
    var group: [Line] = []
    var reply: [UInt8] = []
    var (count, size) = (0, 0)
    func take(_ lines: [[UInt8]]) async throws {
      for line in lines {
        count += 1
        guard count <= APILimits.batchLines else {
          throw Problem(.payloadTooLarge, "a batch has at most \(APILimits.batchLines) lines")
        }
        group.append(Self.parse(line, count))
        if group.count == Self.groupSize {
          reply += try await create(group)
          group.removeAll(keepingCapacity: true)
        }
      }
    }
    while let chunk = try await body.next() {
      size += chunk.count
      guard size <= APILimits.batchBytes else {
        throw Problem(.payloadTooLarge, "a batch has at most \(APILimits.batchBytes) bytes")
      }
      try await take(try splitter.add(chunk))
    }
    try await take(splitter.finish())
    reply += try await create(group)
    return Reply.json(reply, type: "application/x-ndjson")
  }

  /// Creates all with one commit that also keeps the reply.
  func create(from bytes: [UInt8], _ idempotent: IdempotentRequest) async throws -> ServerResponse {
    var splitter = LineSplitter(maximumLine: APILimits.batchLineBytes)
    var lines = try splitter.add(bytes)
    lines += splitter.finish()
    guard lines.count <= APILimits.batchLines else {
      throw Problem(.payloadTooLarge, "a batch has at most \(APILimits.batchLines) lines")
    }
    let parsed = lines.enumerated().map { Self.parse($1, $0 + 1) }
    let tasks = try await service.createTasks(Self.specifications(parsed), in: session) { tasks in
      idempotent.reply(
        status: 200, type: "application/x-ndjson", location: nil, body: Self.render(parsed, tasks))
    }
    return Reply.json(Self.render(parsed, tasks), type: "application/x-ndjson")
  }

  private func create(_ group: [Line]) async throws -> [UInt8] {
    do {
      return Self.render(group, try await service.createTasks(Self.specifications(group), in: session))
    } catch {
      // Earlier groups are committed: the reply has to go on line by line.
      let problem = Problem(error)
      return Self.render(
        group.map { line in if case .specification = line { .problem(problem) } else { line } }, [])
    }
  }

  private static func specifications(_ lines: [Line]) -> [TaskSpecification] {
    lines.compactMap { if case .specification(let specification) = $0 { specification } else { nil } }
  }

  private static func parse(_ line: [UInt8], _ number: Int) -> Line {
    do {
      return .specification(try TaskPayload.specification(JSONParser.parse(line)))
    } catch {
      var problem = Problem(error)
      problem.line = number
      return .problem(problem)
    }
  }

  private static func render(_ lines: [Line], _ tasks: [TransferTask]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(lines.count * 800)
    var next = tasks.makeIterator()
    for line in lines {
      switch line {
      case .specification: if let task = next.next() { bytes += task.json }
      case .problem(let problem): bytes += problem.json
      }
      bytes.append(0x0A)
    }
    return bytes
  }
}

/// Cuts a stream of bytes into lines; blank ones do not count.
struct LineSplitter {
  private let maximumLine: Int
  private var rest: [UInt8] = []

  init(maximumLine: Int) { self.maximumLine = maximumLine }

  /// The lines that `chunk` completes.
  mutating func add(_ chunk: [UInt8]) throws(Problem) -> [[UInt8]] {
    rest += chunk
    var lines: [[UInt8]] = []
    var start = 0
    while let end = rest[start...].firstIndex(of: 0x0A) {
      append(rest[start..<end], to: &lines)
      start = end + 1
    }
    rest.removeFirst(start)
    guard rest.count <= maximumLine else {
      throw Problem(.payloadTooLarge, "a line has at most \(maximumLine) bytes")
    }
    return lines
  }

  /// What stands behind the last line end.
  mutating func finish() -> [[UInt8]] {
    var lines: [[UInt8]] = []
    append(rest[...], to: &lines)
    rest = []
    return lines
  }

  private func append(_ line: ArraySlice<UInt8>, to lines: inout [[UInt8]]) {
    let isBlank = line.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
    if !isBlank { lines.append(Array(line)) }
  }
}
