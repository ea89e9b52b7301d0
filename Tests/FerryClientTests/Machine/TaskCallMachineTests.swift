import Foundation
import JSON
import Testing

@testable import FerryClient

/// Each line gives the machine one input, in words, and expects the effects, in words.
@Suite struct TaskCallMachineTests {
  typealias Line = (input: TaskCallMachine.Input, effects: [String])

  private static func json(_ text: String) -> JSONValue {
    (try? JSONParser.parse(Array(text.utf8))) ?? .null
  }
  private static let response = HTTPFerryResponse(
    json(#"{"url":"http://a/","status":200,"headers":{},"expectedContentLength":4}"#))
  private static let metrics = TaskEvent.metrics(FerrySessionTaskMetrics(.null))
  private static let failure = FerryError(.timedOut)
  private static func event(_ event: TaskEvent) -> TaskCallMachine.Input { .event(event) }
  private static func snapshot(_ text: String) -> TaskCallMachine.Input {
    .snapshot(TaskSnapshot(json(text)))
  }

  private func run(
    _ kind: TaskCallMachine.Kind, _ style: TaskCallMachine.Style = .delegate, _ lines: [Line],
    sourceLocation: SourceLocation = #_sourceLocation
  ) -> TaskCallMachine {
    var machine = TaskCallMachine(kind: kind, style: style)
    for (index, line) in lines.enumerated() {
      let effects = machine.handle(line.input).map(\.words)
      #expect(effects == line.effects, "input \(index + 1): \(line.input)", sourceLocation: sourceLocation)
    }
    return machine
  }

  // MARK: Order

  @Test func `events after the response wait for the body`() {
    let machine = run(
      .data, .delegate,
      [
        (.resume, ["create"]), (Self.event(.response(Self.response, decision: nil)), ["response", "read"]),
        (Self.event(Self.metrics), []), (.bodyBytes(Data("ab".utf8)), ["data ab"]),
        (Self.event(.completed(nil, size: 4)), []), (.bodyBytes(Data("cd".utf8)), ["data cd"]),
        (.bodyEnded(nil), ["metrics", "complete", "end"]), (Self.event(Self.metrics), []),
      ])
    #expect(machine.state == .completed && machine.received == 4 && machine.response === Self.response)
  }

  @Test func `body is read after the delegate has allowed the response`() {
    _ = run(
      .data, .delegate,
      [
        (.resume, ["create"]), (Self.event(.response(Self.response, decision: "dec_1")), ["response"]),
        (Self.event(Self.metrics), []), (.responseAllowed, ["read"]), (.responseAllowed, []),
        (.bodyBytes(Data("ab".utf8)), ["data ab"]),
        (Self.event(.willCache(CachedFerryResponse(response: Self.response), size: 4, decision: "d")), []),
        (.bodyBytes(Data("cd".utf8)), ["data cd", "cache"]), (Self.event(.completed(nil, size: 4)), []),
        (.bodyEnded(nil), ["metrics", "complete", "end"]),
      ])
  }

  @Test func `cancelled response has no body`() {
    _ = run(
      .data, .delegate,
      [
        (.resume, ["create"]), (Self.event(.response(Self.response, decision: "dec_1")), ["response"]),
        (Self.event(Self.metrics), []),
        (Self.event(.completed(FerryError(.cancelled), size: nil)), ["metrics", "complete -999", "end"]),
      ])
  }

  @Test func `body of an expired decision is read at the end`() {
    _ = run(
      .data, .delegate,
      [
        (.resume, ["create"]), (Self.event(.response(Self.response, decision: "dec_1")), ["response"]),
        (Self.event(.completed(nil, size: 4)), ["read"]), (.bodyBytes(Data("abcd".utf8)), ["data abcd"]),
        (.bodyEnded(nil), ["complete", "end"]),
      ])
  }

  @Test func `completion handler receives the whole body, and the delegate no response`() {
    _ = run(
      .data, .completionHandler,
      [
        (.resume, ["create"]), (Self.event(.response(Self.response, decision: "dec_1")), ["allow dec_1"]),
        (
          Self.event(.willCache(CachedFerryResponse(response: Self.response), size: 4, decision: "dec_2")),
          ["store dec_2"]
        ),
        (Self.event(Self.metrics), ["metrics"]), (Self.event(.completed(nil, size: 4)), ["read"]),
        (.bodyBytes(Data("ab".utf8)), []), (.bodyBytes(Data("cd".utf8)), []),
        (.bodyEnded(nil), ["complete with abcd", "end"]),
      ])
    _ = run(
      .data, .completionHandler,
      [
        (.resume, ["create"]), (Self.event(.response(Self.response, decision: nil)), []),
        (Self.event(.completed(nil, size: 0)), ["complete with ", "end"]),
      ])
  }

  @Test func `file precedes metrics and end of a download`() {
    let file = URL(fileURLWithPath: "/tmp/file")
    _ = run(
      .download, .delegate,
      [
        (.resume, ["create"]), (Self.event(.wrote(bytes: 4, total: 4, expected: 4)), ["wrote 4"]),
        (Self.event(.finishedDownloading), ["fetch"]), (Self.event(Self.metrics), []),
        (Self.event(.completed(nil, size: 4)), []),
        (.fileArrived(Self.response, .success(file)), ["finished", "metrics", "complete", "end"]),
      ])
    _ = run(
      .download, .completionHandler,
      [
        (.resume, ["create"]), (Self.event(.finishedDownloading), ["fetch"]),
        (Self.event(.completed(nil, size: 4)), []),
        (.fileArrived(Self.response, .success(file)), ["complete with file", "end"]),
      ])
    _ = run(
      .download, .delegate,
      [
        (.resume, ["create"]), (Self.event(.finishedDownloading), ["fetch"]),
        (Self.event(.completed(nil, size: 4)), []),
        (.fileArrived(nil, .failure(FerryError(.cannotCreateFile))), ["complete -3000", "end"]),
      ])
  }

  // MARK: Failures

  @Test func `error of the task replaces that of its body`() {
    let machine = run(
      .data, .delegate,
      [
        (.resume, ["create"]), (Self.event(.response(Self.response, decision: nil)), ["response", "read"]),
        (Self.event(.completed(Self.failure, size: nil)), []),
        (.bodyEnded(FerryError(.serviceUnreachable)), ["complete -1001", "end"]),
      ])
    #expect(machine.error == Self.failure)
  }

  @Test func `body that cannot be read is an error of a task that has succeeded`() {
    _ = run(
      .data, .delegate,
      [
        (.resume, ["create"]), (Self.event(.response(Self.response, decision: nil)), ["response", "read"]),
        (Self.event(.completed(nil, size: 4)), []),
        (.bodyEnded(FerryError(.serviceUnreachable)), ["complete 100", "end"]),
      ])
  }

  @Test func `cancellation does not wait for the body`() {
    _ = run(
      .data, .delegate,
      [
        (.resume, ["create"]), (Self.event(.response(Self.response, decision: nil)), ["response", "read"]),
        (.cancel(producingResumeData: false), ["cancel"]), (.cancel(producingResumeData: false), []),
        (
          Self.event(.completed(FerryError(.cancelled), size: nil)),
          ["stop reading", "complete -999", "end"]
        ), (.bodyEnded(nil), []), (.resume, []),
      ])
  }

  @Test func `cancelled task does not succeed`() {
    for (kind, error) in [
      (TaskCallMachine.Kind.data, nil), (.download, nil), (.data, FerryError(.timedOut)),
    ] {
      _ = run(
        kind, .completionHandler,
        [
          (.resume, ["create"]), (.cancel(producingResumeData: false), ["cancel"]),
          (Self.event(.completed(error, size: 4)), ["complete -999", "end"]),
        ])
    }
  }

  @Test func `failed body cancels the task, which ends with the reason`() {
    let reason = FerryError(.requestBodyStreamExhausted)
    var machine = TaskCallMachine(kind: .upload, style: .delegate)
    _ = machine.handle(.resume)
    #expect(machine.handle(.bodyFailed(reason)).map(\.words) == ["cancel"])
    #expect(machine.handle(.bodyFailed(FerryError(.unknown))).isEmpty)
    _ = machine.handle(.event(.completed(FerryError(.cancelled), size: nil)))
    #expect(machine.error?.code == .requestBodyStreamExhausted)
  }

  @Test func `refused creation ends the task`() {
    _ = run(
      .data, .delegate, [(.resume, ["create"]), (.refused(FerryError(.badURL)), ["complete -1000", "end"])])
    _ = run(.data, .delegate, [(.cancel(producingResumeData: false), ["complete -999", "end"])])
  }

  // MARK: States

  @Test func `suspensions nest before and after the creation`() {
    let machine = run(
      .data, .delegate,
      [
        (.suspend, []), (.resume, []), (.resume, ["create"]), (.resume, []), (.suspend, ["suspend"]),
        (.suspend, ["suspend"]), (.resume, ["resume"]), (.resume, ["resume"]),
      ])
    #expect(machine.state == .running)
  }

  @Test func `another client may suspend the task`() {
    var machine = run(
      .data, .delegate, [(.resume, ["create"]), (Self.event(.stateChanged(isSuspended: true)), [])])
    #expect(machine.state == .suspended)
    _ = machine.handle(.event(.stateChanged(isSuspended: false)))
    #expect(machine.state == .running)
  }

  // MARK: Missed events

  @Test func `snapshot of an ended task replaces missed events`() {
    let ended = #"{"state":"completed","response":{"url":"http://a/","status":200},"body":{"size":2}}"#
    _ = run(
      .data, .delegate,
      [
        (.resume, ["create"]), (Self.snapshot(#"{"state":"running"}"#), []),
        (Self.snapshot(ended), ["response", "read"]), (.bodyBytes(Data("ab".utf8)), ["data ab"]),
        (.bodyEnded(nil), ["complete", "end"]),
      ])
    _ = run(
      .download, .delegate,
      [
        (.resume, ["create"]), (Self.snapshot(ended), ["fetch"]),
        (.fileArrived(nil, .success(URL(fileURLWithPath: "/a"))), ["finished", "complete", "end"]),
      ])
    let failed = #"{"state":"completed","error":{"code":-1001,"domain":"NSURLErrorDomain"}}"#
    _ = run(.data, .delegate, [(.resume, ["create"]), (Self.snapshot(failed), ["complete -1001", "end"])])
  }
}

extension TaskEffect {
  /// The effect in words.
  fileprivate var words: String {
    switch self {
    case .command(.create): "create"
    case .command(.resume): "resume"
    case .command(.suspend): "suspend"
    case .command(.cancel): "cancel"
    case .allow(let decision): "allow \(decision)"
    case .store(_, let decision): "store \(decision)"
    case .sendBody: "send"
    case .readBody: "read"
    case .stopReading: "stop reading"
    case .fetchFile: "fetch"
    case .end: "end"
    case .call(.response): "response"
    case .call(.data(let data)): "data \(String(decoding: data, as: UTF8.self))"
    case .call(.metrics): "metrics"
    case .call(.willCache): "cache"
    case .call(.wrote(_, let total, _)): "wrote \(total)"
    case .call(.finishedDownloading): "finished"
    case .call(.completed(let error?, _, _)): "complete \(error.errorCode)"
    case .call(.completed(nil, let body, let file)):
      file != nil
        ? "complete with file"
        : body.map { "complete with \(String(decoding: $0, as: UTF8.self))" } ?? "complete"
    case .call(let call): "\(call)"
    }
  }
}
