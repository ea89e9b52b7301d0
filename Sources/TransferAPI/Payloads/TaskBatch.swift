internal import HTTPServer
internal import JSON
internal import Limits
internal import TransferModel
internal import TransferService

/// A batch of tasks, one per line of NDJSON. An invalid line fails alone. The reply has one line for each line, in the same order.
struct TaskBatch {
  private let view: TenantView
  private let session: TransferSession
  private let spools: BodySpoolFactory
  /// Tasks that share a commit. The number is small, so that the first tasks start while later lines are being read.
  private static let groupSize = 256
  /// The largest number of violations reported per line.
  private static let mostLineErrors = Limits.lineViolations.value

  /// - Parameter session: a session of the same tenant.
  init(view: TenantView, session: TransferSession, spools: BodySpoolFactory) {
    self.view = view
    self.session = session
    self.spools = spools
  }

  /// A line: the task to create, or the problem.
  fileprivate enum BatchLine {
    case specification(TaskSpecification, line: Int)
    case problem(Problem)

    /// The group of the line's task.
    var group: String? {
      if case .specification(let specification, _) = self { specification.preferences.group } else { nil }
    }

    /// Returns the line with a problem that concerns the whole group.
    func failing(with problem: Problem) -> BatchLine {
      guard case .specification(_, let line) = self else { return self }
      var problem = problem
      problem.line = line
      return .problem(problem)
    }
  }

  /// Creates tasks group by group while the body arrives. After the first commit the status is fixed, so a later fault becomes
  /// the reply's last line.
  func create(from body: RequestBody) async throws -> ServerResponse {
    var splitter = LineSplitter(maximumLine: Limits.batchLineBytes.value)
    var group: [BatchLine] = []
    var reply: [UInt8] = []
    if let length = body.length, length > Limits.batchBytes.value { throw Self.tooManyBytes }
    do {
      var (count, size, bodyBytes) = (0, 0, 0)
      while let chunk = try await body.next() {
        size += chunk.count
        guard size <= Limits.batchBytes.value else { throw Self.tooManyBytes }
        splitter.add(chunk)
        // Not kept while waiting for more bytes, because the parser holds as much memory as its longest line.
        var parser = JSONParser()
        while let line = try splitter.next() {
          count += 1
          guard count <= Limits.batchLines.value else { throw Self.tooManyLines(at: line.number) }
          group.append(await parse(line, with: &parser, &bodyBytes))
          guard group.count == Self.groupSize else { continue }
          reply += await create(group)
          group.removeAll(keepingCapacity: true)
          bodyBytes = 0
        }
      }
      if let line = splitter.finish() {
        guard count < Limits.batchLines.value else { throw Self.tooManyLines(at: line.number) }
        var parser = JSONParser()
        group.append(await parse(line, with: &parser, &bodyBytes))
      }
      reply += await create(group)
    } catch {
      guard !reply.isEmpty else { throw error }
      reply += await create(group)
      reply += Self.render([.problem(Problem(error))], [])
    }
    return ReplyBuilder.json(reply, type: "application/x-ndjson")
  }

  /// Reads a whole batch into a spool and checks its limits. `create` parses the batch later, so a slow client does not fill the
  /// memory.
  /// - Parameter digest: updated with every byte of the body.
  func read(_ body: RequestBody, digest: inout IdempotentRequest.Digest) async throws -> BodySpool {
    if let length = body.length, length > Limits.batchBytes.value { throw Self.tooManyBytes }
    let spool = spools.make(in: session)
    var splitter = LineSplitter(maximumLine: Limits.batchLineBytes.value)
    var count = 0
    func check(_ line: LineSplitter.Line) throws {
      count += 1
      guard count <= Limits.batchLines.value else { throw Self.tooManyLines(at: line.number) }
    }
    while let chunk = try await body.next() {
      guard spool.size + chunk.count <= Limits.batchBytes.value else { throw Self.tooManyBytes }
      digest.update(chunk)
      splitter.add(chunk)
      while let line = try splitter.next() { try check(line) }
      await spool.append(chunk)
    }
    if let line = splitter.finish() { try check(line) }
    return spool
  }

  /// Creates all tasks and stores the reply, in one commit.
  func create(_ batch: BodySpool, _ idempotent: IdempotentRequest) async throws -> ServerResponse {
    // All tasks of a batch are in memory before the first is created, so only one large batch is processed at a time.
    try await spools.processExclusively(batch) { try await createAll(batch, idempotent) }
  }

  private func createAll(_ batch: BodySpool, _ idempotent: IdempotentRequest) async throws -> ServerResponse {
    var splitter = LineSplitter(maximumLine: Limits.batchLineBytes.value)
    var parser = JSONParser()
    var (parsed, bodyBytes) = ([BatchLine](), 0)
    while let bytes = try await batch.next() {
      splitter.add(bytes)
      while let line = try splitter.next() { parsed.append(await parse(line, with: &parser, &bodyBytes)) }
    }
    if let line = splitter.finish() { parsed.append(await parse(line, with: &parser, &bodyBytes)) }
    return try await createTogether(parsed, idempotent)
  }

  /// Creates all tasks of valid lines in one commit.
  private func createTogether(
    _ lines: [BatchLine], _ idempotent: IdempotentRequest
  ) async throws -> ServerResponse {
    let (created, tasks) = try await createOpen(lines) { lines, tasks in
      idempotent.reply(
        status: 200, type: "application/x-ndjson", location: nil, body: Self.render(lines, tasks))
    }
    return ReplyBuilder.json(Self.render(created, tasks), type: "application/x-ndjson")
  }

  /// Creates all tasks of valid lines in one commit, except those of closed groups, whose lines fail. One query finds all closed groups. The
  /// creation is tried again only if a group was closed since.
  /// - Returns: the lines, and the tasks of those that have not failed.
  private func createOpen(
    _ lines: [BatchLine],
    reply: @escaping @Sendable ([BatchLine], [TransferTask]) -> IdempotentReply? = { _, _ in nil }
  ) async throws(ServiceError) -> (lines: [BatchLine], tasks: [TransferTask]) {
    var lines = lines
    while true {
      let wanted = lines
      do throws(ServiceError) {
        let tasks = try await view.createTasks(Self.specifications(wanted), in: session) { reply(wanted, $0) }
        return (wanted, tasks)
      } catch {
        guard case .groupClosed(let first) = error else { throw error }
        let closed = try await view.closedGroups(among: wanted.compactMap(\.group)) + [first]
        let problems = Dictionary(
          closed.map { (Array($0.utf8), Problem(ServiceError.groupClosed($0))) }, uniquingKeysWith: { $1 })
        lines = wanted.map { line in
          guard let group = line.group, let problem = problems[Array(group.utf8)] else { return line }
          return line.failing(with: problem)
        }
      }
    }
  }

  private static func tooManyLines(at line: Int) -> Problem {
    var problem = Problem(
      .payloadTooLarge,
      "a batch has at most \(Limits.batchLines.value) lines; send this line and the rest in another batch")
    problem.line = line
    return problem
  }
  private static let tooManyBytes = Problem(
    .payloadTooLarge, "a batch has at most \(Limits.batchBytes.value) bytes; send the rest in another batch")

  private static let tooManyBodyBytes = Problem(
    .payloadTooLarge,
    "the bodies of the uploads that a batch resumes have at most \(Limits.batchBytes.value) bytes; send this line in another batch"
  )

  private func create(_ group: [BatchLine]) async -> [UInt8] {
    do throws(ServiceError) {
      let (lines, tasks) = try await createOpen(group)
      return Self.render(lines, tasks)
    } catch {
      // The lines exceed a limit, but some of their tasks may be accepted.
      if error.isLimit, group.count > 1 {
        var reply: [UInt8] = []
        for line in group { reply += await create([line]) }
        return reply
      }
      let problem = Problem(error)
      return Self.render(group.map { $0.failing(with: problem) }, [])
    }
  }

  private static func specifications(_ lines: [BatchLine]) -> [TaskSpecification] {
    lines.compactMap { if case .specification(let specification, _) = $0 { specification } else { nil } }
  }

  /// - Parameter bodyBytes: the bytes of the bodies in memory. A short line of resume data can stand for the whole body of an
  ///   earlier upload.
  private func parse(
    _ line: LineSplitter.Line, with parser: inout JSONParser, _ bodyBytes: inout Int
  ) async -> BatchLine {
    do {
      let specification = try await TaskPayload.specification(
        parser.parse(line.buffer, in: line.range), in: session, view)
      let size = specification.request.body?.data?.count ?? 0
      guard bodyBytes + size <= Limits.batchBytes.value else { throw Self.tooManyBodyBytes }
      bodyBytes += size
      return .specification(specification, line: line.number)
    } catch {
      var problem = Problem(error).limitingViolations(at: Self.mostLineErrors)
      problem.line = line.number
      return .problem(problem)
    }
  }

  private static func render(_ lines: [BatchLine], _ tasks: [TransferTask]) -> [UInt8] {
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
