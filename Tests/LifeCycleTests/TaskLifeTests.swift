import LifeCycle
import Testing
import TransferModel

/// The grammar of a task's events, by examples: lives that URLSession tells, and for each rule events that break it.
@Suite struct TaskLifeTests {
  struct Good: Sendable, CustomTestStringConvertible {
    let name: String
    let circumstances: TaskCircumstances
    let words: [TaskWord]
    var isOver = true

    init(
      _ name: String, _ circumstances: TaskCircumstances, _ pieces: [TaskWord]..., isOver: Bool = true
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
    Good("data that is cached", .data, .begun(), [.response, .caching, .metrics, .success]),
    Good(
      "data that is counted", .data,
      .begun(), [.progress(.sentBodyData), .response, .progress(.receivedData), .metrics, .success]),
    Good("an upload", .upload, .begun(.upload), [.progress(.sentBodyData), .response, .metrics, .success]),
    Good(
      "a download", .download,
      .begun(.download), [.progress(.wroteData), .finishedDownloading, .metrics, .success]),
    Good(
      "a download that goes on", .download,
      .begun(.download), [.resumedAtOffset, .progress(.wroteData), .finishedDownloading, .metrics, .success]),
    Good(
      "what comes before a response", .data,
      .begun(), [.informational, .redirection, .informational, .response, .metrics, .success]),
    Good("parts", .data, .begun(), [.response, .progress(.receivedData), .response, .metrics, .success]),
    Good("a failure", .data, .begun(), [.metrics, .failure]),
    Good("a failure behind the response", .data, .begun(), [.response, .metrics, .failure]),
    Good("a failure in the queue", .data, [.created(.data), .queued, .metrics, .failure]),
    Good("cancelled before it is resumed", .data, [.created(.data), .canceling, .metrics, .cancelled]),
    Good("cancelled, and heard of", .data, .begun(), [.canceling, .response, .metrics, .cancelled]),
    Good("not yet begun", .data, [.created(.data)], isOver: false),
    Good("under way", .data, .begun(), [.response], isOver: false),
    Good("nothing yet", .data, [], isOver: false),
    Good(
      "no network for a while", .patient,
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
      "a login that is refused, whose answer was held", .asking(.taskChallenge),
      .begun(), .asked(.taskChallenge), [.queued, .response, .caching, .metrics, .success]),
    Good(
      "a trust in the handshake", .asking(.sessionChallenge, kind: .download),
      .begun(.download), .asked(.sessionChallenge), [.transferring, .finishedDownloading, .metrics, .success]),
    Good(
      "a redirection", .asking(.redirection),
      .begun(), .asked(.redirection), [.queued, .transferring, .response, .metrics, .success]),
    Good(
      "a response and its caching", .asking(.response, .caching),
      .begun(), .asked(.response), [.transferring], .asked(.caching), [.transferring, .metrics, .success]),
    Good(
      "a download in the place of data", .asking(.response),
      .begun(), .asked(.response), [.transferring, .becameDownload]),
    Good(
      "the same while suspended", .asking(.response),
      .begun(), .asked(.response), [.suspended, .becameDownload]),
    Good(
      "that download", TaskCircumstances(.download, goesOnForDataTask: true),
      [.created(.download), .transferring, .finishedDownloading, .metrics, .success]),
    Good(
      "a body that is streamed", .upload,
      [.created(.upload), .queued], .asked(.newBodyStream),
      [.queued, .transferring, .response, .metrics, .success]),
    Good(
      "a begin date", .asking(.delayedRequest),
      [.created(.data), .queued], .asked(.delayedRequest), [.queued, .transferring], isOver: false),
    Good(
      "a question that ends with its task", .asking(.response),
      .begun(), .asked(.response), [.canceling, .metrics, .cancelled]),
    Good(
      "nobody answered, and it failed", .upload, .begun(.upload), .asked(.newBodyStream),
      [.metrics, .failure]),
    Good(
      "a completion handler takes the response over",
      TaskCircumstances(
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
      "its service ended meanwhile", .data,
      .begun(), [.response, .suspended, .transferring, .redirection, .response, .metrics, .success]),
    Good(
      "a question through a suspension", .asking(.response),
      .begun(), .asked(.response), [.suspended, .deciding, .transferring, .metrics, .success]),
    Good(
      "asked while suspended", .asking(.response),
      .begun(), [.suspended, .call(.response, asks: true), .deciding, .transferring], isOver: false),
    Good(
      "asked again about a begin date, as the question went with its service", .asking(.delayedRequest),
      [.created(.data), .queued], .asked(.delayedRequest), [.suspended, .queued], .asked(.delayedRequest),
      isOver: false),
    Good(
      "the service was killed over a question", .asking(.response),
      .begun(), .asked(.response), [.metrics, .failure]),
  ]

  static let inBackground: [Good] = [
    Good(
      "a download that is tried again", .background(.download),
      .begun(.download), [.resumedAtOffset, .retrying, .transferring, .resumedAtOffset],
      [.finishedDownloading, .metrics, .success]),
    Good("an upload", .background(.upload), .begun(.upload), [.metrics, .success]),
    Good(
      "data that is tried again", .background(.data),
      .begun(), [.response, .retrying, .transferring, .informational, .response, .metrics, .success]),
    Good(
      "the worker died over a question", .asking(.taskChallenge, kind: .download, in: .background),
      .begun(.download), .asked(.taskChallenge), [.queued, .transferring], .asked(.taskChallenge),
      [.queued, .transferring, .finishedDownloading, .metrics, .success]),
    Good(
      "no network, which nobody is told", .background(.download),
      [.created(.download), .queued, .offline, .transferring, .finishedDownloading, .metrics, .success]),
  ]

  @Test(arguments: good) func aLifeIsAWord(_ row: Good) {
    var life = TaskLife(row.circumstances)
    let (count, violation) = life.take(row.words)
    #expect(count == row.words.count && violation == nil, "\(violation.map { "\($0)" } ?? "")")
    #expect(life.isOver == row.isOver)
    if row.isOver { #expect(life.currentState == .completed) }
  }

  @Test func theStateIsTheLastThatWasTold() {
    var life = TaskLife(.data)
    for (word, state) in [
      (TaskWord.created(.data), TaskState.suspended), (.queued, .running), (.suspended, .suspended),
      (.queued, .running), (.canceling, .canceling), (.metrics, .canceling), (.cancelled, .completed),
    ] {
      #expect(life.take([word]).violation == nil)
      #expect(life.currentState == state)
    }
  }

  @Test func aViolationLeavesAllAsItWas() {
    var life = TaskLife(.data)
    #expect(life.take(.begun()).violation == nil)
    let before = life
    #expect(life.take([.success]).violation?.rule == .metricsBeforeTheEnd)
    #expect(life == before)
    #expect(life.take([.response, .metrics, .success]).violation == nil && life.isOver)
  }
}
