import LifeCycle
import Testing
import TransferModel

/// The grammar of a task's events, by examples of lives that URLSession allows.
@Suite struct TaskLifeTests {
  struct Good: Sendable, CustomTestStringConvertible {
    let name: String
    let circumstances: TaskTraits
    let words: [TaskSymbol]
    var isOver = true

    init(
      _ name: String, _ circumstances: TaskTraits, _ pieces: [TaskSymbol]..., isOver: Bool = true
    ) {
      (self.name, self.circumstances, self.words, self.isOver) = (
        name, circumstances, pieces.flatMap { $0 }, isOver
      )
    }
    var testDescription: String { name }
  }

  static let good = plain + asked + interrupted + inBackground

  static let plain: [Good] = [
    Good("data", .data, .begun(), [.response, .metrics, .success]),
    Good("data with a cached response", .data, .begun(), [.response, .caching, .metrics, .success]),
    Good(
      "data with progress", .data,
      .begun(), [.progress(.sentBodyData), .response, .progress(.receivedData), .metrics, .success]),
    Good("an upload", .upload, .begun(.upload), [.progress(.sentBodyData), .response, .metrics, .success]),
    Good(
      "a download", .download,
      .begun(.download), [.progress(.wroteData), .finishedDownloading, .metrics, .success]),
    Good(
      "a resumed download", .download,
      .begun(.download), [.resumedAtOffset, .progress(.wroteData), .finishedDownloading, .metrics, .success]),
    Good(
      "events before a response", .data,
      .begun(), [.informational, .redirection, .informational, .response, .metrics, .success]),
    Good("parts", .data, .begun(), [.response, .progress(.receivedData), .response, .metrics, .success]),
    Good("a failure", .data, .begun(), [.metrics, .failure]),
    Good("a failure after the response", .data, .begun(), [.response, .metrics, .failure]),
    Good("a failure in the queue", .data, [.created(.data), .queued, .metrics, .failure]),
    Good("cancelled before it was resumed", .data, [.created(.data), .canceling, .metrics, .cancelled]),
    Good("cancelled, with a late response", .data, .begun(), [.canceling, .response, .metrics, .cancelled]),
    Good("not started", .data, [.created(.data)], isOver: false),
    Good("still running", .data, .begun(), [.response], isOver: false),
    Good("no events", .data, [], isOver: false),
    Good(
      "no network at first", .patient,
      [
        .created(.data), .queued, .offline, .waitsForConnectivity, .transferring, .response, .metrics,
        .success,
      ]),
    Good(
      "no network twice", .patient,
      [.created(.data), .queued, .offline, .waitsForConnectivity, .transferring, .redirection, .offline],
      [.transferring, .response, .metrics, .success]),
    Good("a begin date", .data, [.created(.data), .queued, .delayed, .transferring], isOver: false),
  ]

  static let asked: [Good] = [
    Good(
      "a login", .asking(.taskChallenge),
      .begun(), .asked(.taskChallenge), [.queued, .transferring, .response, .metrics, .success]),
    Good(
      "a refused login whose response was kept", .asking(.taskChallenge),
      .begun(), .asked(.taskChallenge), [.queued, .response, .caching, .metrics, .success]),
    Good(
      "a trust decision in the handshake", .asking(.sessionChallenge, kind: .download),
      .begun(.download), .asked(.sessionChallenge), [.transferring, .finishedDownloading, .metrics, .success]),
    Good(
      "a redirection", .asking(.redirection),
      .begun(), .asked(.redirection), [.queued, .transferring, .response, .metrics, .success]),
    Good(
      "a response and its caching", .asking(.response, .caching),
      .begun(), .asked(.response), [.transferring], .asked(.caching), [.transferring, .metrics, .success]),
    Good(
      "data that becomes a download", .asking(.response),
      .begun(), .asked(.response), [.transferring, .becameDownload]),
    Good(
      "suspended data that becomes a download", .asking(.response),
      .begun(), .asked(.response), [.suspended, .becameDownload]),
    Good(
      "the download of a data task", TaskTraits(.download, goesOnForDataTask: true),
      [.created(.download), .transferring, .finishedDownloading, .metrics, .success]),
    Good(
      "a streamed body", .upload,
      [.created(.upload), .queued], .asked(.newBodyStream),
      [.queued, .transferring, .response, .metrics, .success]),
    Good(
      "a begin date", .asking(.delayedRequest),
      [.created(.data), .queued], .asked(.delayedRequest), [.queued, .transferring], isOver: false),
    Good(
      "cancelled during a decision", .asking(.response),
      .begun(), .asked(.response), [.canceling, .metrics, .cancelled]),
    Good(
      "an unanswered decision, and a failure", .upload, .begun(.upload), .asked(.newBodyStream),
      [.metrics, .failure]),
    Good(
      "a completion handler receives the response",
      TaskTraits(
        .data, asked: .init(.response, .caching, .redirection), hasCompletionHandler: true),
      .begun(), .asked(.redirection), [.queued, .transferring, .response, .caching, .metrics, .success]),
  ]

  static let interrupted: [Good] = [
    Good(
      "suspended and resumed", .data,
      .begun(), [.response, .suspended, .progress(.receivedData), .transferring, .progress(.receivedData)],
      [.caching, .metrics, .success]),
    Good("suspended in the queue", .data, [.created(.data), .queued, .suspended, .queued], isOver: false),
    Good(
      "suspended while its service restarted", .data,
      .begun(), [.response, .suspended, .transferring, .redirection, .response, .metrics, .success]),
    Good(
      "a pending decision during a suspension", .asking(.response),
      .begun(), .asked(.response), [.suspended, .deciding, .transferring, .metrics, .success]),
    Good(
      "a decision that begins during a suspension", .asking(.response),
      .begun(), [.suspended, .call(.response, asks: true), .deciding, .transferring], isOver: false),
    Good(
      "a begin-date decision that is repeated after a restart", .asking(.delayedRequest),
      [.created(.data), .queued], .asked(.delayedRequest), [.suspended, .queued], .asked(.delayedRequest),
      isOver: false),
    Good(
      "the service was killed during a decision", .asking(.response),
      .begun(), .asked(.response), [.metrics, .failure]),
  ]

  static let inBackground: [Good] = [
    Good(
      "a retried download", .background(.download),
      .begun(.download), [.resumedAtOffset, .retrying, .transferring, .resumedAtOffset],
      [.finishedDownloading, .metrics, .success]),
    Good("an upload", .background(.upload), .begun(.upload), [.metrics, .success]),
    Good(
      "retried data", .background(.data),
      .begun(), [.response, .retrying, .transferring, .informational, .response, .metrics, .success]),
    Good(
      "the worker died during a decision", .asking(.taskChallenge, kind: .download, in: .background),
      .begun(.download), .asked(.taskChallenge), [.queued, .transferring], .asked(.taskChallenge),
      [.queued, .transferring, .finishedDownloading, .metrics, .success]),
    Good(
      "no network, without an event", .background(.download),
      [.created(.download), .queued, .offline, .transferring, .finishedDownloading, .metrics, .success]),
  ]

  @Test(arguments: good) func `task accepts each example`(_ row: Good) {
    var life = TaskLifeAutomaton(row.circumstances)
    let (count, violation) = life.take(row.words)
    #expect(count == row.words.count && violation == nil, "\(violation.map { "\($0)" } ?? "")")
    #expect(life.isOver == row.isOver)
    if row.isOver { #expect(life.currentState == .completed) }
  }

  @Test func `state is the last one reported`() {
    var life = TaskLifeAutomaton(.data)
    for (word, state) in [
      (TaskSymbol.created(.data), TaskState.suspended), (.queued, .running), (.suspended, .suspended),
      (.queued, .running), (.canceling, .canceling), (.metrics, .canceling), (.cancelled, .completed),
    ] {
      #expect(life.take([word]).violation == nil)
      #expect(life.currentState == state)
    }
  }

  @Test func `violation leaves the automaton unchanged`() {
    var life = TaskLifeAutomaton(.data)
    #expect(life.take(.begun()).violation == nil)
    let before = life
    #expect(life.take([.success]).violation?.rule == .metricsBeforeTheEnd)
    #expect(life == before)
    #expect(life.take([.response, .metrics, .success]).violation == nil && life.isOver)
  }
}
