internal import ArgumentParser
internal import FerryClient
internal import FerrySettings
internal import FoundationEssentials
internal import Glibc
internal import Processes
internal import EventLoop

/// The command `ferry get`.
struct GetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Download files.",
    discussion: """
      Each file gets the name that its server suggests. The command uses the service that --server, FERRY_SERVER or a context \
      names. Otherwise it starts a service of its own, and keeps its state under $XDG_STATE_HOME/ferry until all files are \
      done. The same command then finds its files again: it skips the finished ones and continues the others. \
      Ctrl-C suspends the downloads.

      The exit status is 0 if all files are done. Other statuses name the cause of the first failure. 1 is a network error, 2 an \
      unreachable service, 3 a file error, and 4 an HTTP status of 400 or more. 5 is another size or digest, 6 a refusal, and 7 a \
      timeout. A wrong option has 64, a wrong setting 78, and Ctrl-C 130.
      """)

  private static let window = 512

  @Argument(help: "URLs to download.")
  var urls: [String] = []
  @Option(
    name: .shortAndLong, help: ArgumentHelp("Name of the file; - for standard output.", valueName: "file"),
    completion: .file())
  var output: String?
  @Option(name: [.customShort("P"), .long], help: "Directory for the files.", completion: .directory)
  var directory: String?
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("File with one URL a line; - for standard input.", valueName: "list"),
    completion: .file())
  var input: String?
  @Option(name: .shortAndLong, help: "Maximum number of downloads at the same time.")
  var jobs: Int?
  @Flag(
    name: [.customShort("c"), .customLong("continue")],
    help: "No effect: unfinished downloads always continue.")
  var continues = false
  @Flag(name: .customShort("O"), help: "No effect: files always get the name that the server suggests.")
  var remoteName = false
  @Option(help: "Maximum number of attempts for each file.")
  var tries = OptionText.standardTries
  @Option(
    help: ArgumentHelp(
      "HTTP statuses after which an attempt is repeated, with commas. [429,503]", valueName: "list"))
  var retryOn: String?
  @Option(help: "Seconds without a byte after which an attempt ends. [60]")
  var timeout: Double?
  @Option(help: ArgumentHelp("SHA-256 digest of the file.", valueName: "hex"))
  var sha256: String?
  @Option(
    name: [.customShort("H"), .long],
    help: ArgumentHelp("Header field of the requests, 'Name: value'.", valueName: "field"))
  var header: [String] = []
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "User for the servers. The command asks for a missing password.", valueName: "user[:password]"))
  var user: String?
  @Option(help: ArgumentHelp("Maximum bytes a second for each file, such as 500k.", valueName: "number"))
  var limitRate: String?
  @Option(help: ArgumentHelp("Label of the tasks.", valueName: "key=value"))
  var label: [String] = []
  @Option(help: ArgumentHelp("URL that receives a message when a file is done.", valueName: "url"))
  var webhook: String?
  @Flag(help: "Create the tasks in a running service, print their ids, and end.")
  var detach = false
  @Flag(name: .shortAndLong, help: "Report only failures.")
  var quiet = false
  @Flag(help: "Print one JSON object a line.")
  var json = false
  @OptionGroup var service: ServerOptions
  @Option(
    help: ArgumentHelp("Network that the command's own service may also connect to.", valueName: "network"))
  var allowNetwork: [String] = []
  @Option(
    name: .customLong(SettingsCatalogue.shared.caFile.name),
    help: ArgumentHelp("Certificate authorities for the command's own service.", valueName: "file"),
    completion: .file())
  var caFile: String?

  func validate() throws {
    guard !urls.isEmpty || input != nil else {
      throw ValidationError("no URL is given; name one, or use --input")
    }
    if let jobs, jobs < 1 { throw ValidationError("jobs: '\(jobs)' is not a number above 0") }
    try OptionText.checkTries(tries)
    guard output != "-" || !json else {
      throw ValidationError("--json and --output - both use standard output; choose one")
    }
    guard !detach || output == nil && directory == nil && !json else {
      throw ValidationError(
        "--detach leaves the bodies in the service and prints ids, so --output, --directory and --json have no use with it"
      )
    }
    guard output != "" else { throw ValidationError("output: the name is empty") }
    guard !quiet || !json else { throw ValidationError("--quiet and --json are both given; choose one") }
    if let sha256,
      sha256.count != 64 || !sha256.allSatisfy(\.isHexDigit) || !sha256.utf8.allSatisfy({ $0 < 0x80 })
    {
      throw ValidationError("sha256: '\(sha256)' must have 64 hexadecimal digits")
    }
    if let limitRate, Quantities.byteCount(limitRate) == nil {
      throw ValidationError(
        "limit-rate: '\(limitRate)' is not a number of bytes; use a form such as 500k or 2M")
    }
    if let timeout, !(0.001...86_400).contains(timeout) {
      throw ValidationError("timeout: '\(timeout)' is not a number of seconds up to 86400")
    }
    _ = try statuses()
    _ = try fields()
    _ = try labels()
  }

  private func statuses() throws -> [Int]? {
    guard let retryOn else { return nil }
    return try retryOn.split(separator: ",").map { word in
      guard let status = Int(word), (400...599).contains(status) else {
        throw ValidationError("retry-on: '\(word)' is not a status from 400 to 599")
      }
      return status
    }
  }

  private func fields() throws -> [OptionText.Pair] {
    let fields = try OptionText.fields(header)
    var seen: Set<String> = []
    for field in fields where !seen.insert(field.name.lowercased()).inserted {
      throw ValidationError("header: '\(field.name)' is given twice; join the values with a comma")
    }
    return fields
  }

  private func labels() throws -> [OptionText.Pair] {
    let labels = try OptionText.labels(label)
    var seen: Set<String> = []
    for label in labels where !seen.insert(label.name).inserted {
      throw ValidationError("label: '\(label.name)' is given twice")
    }
    return labels
  }

  func run() async throws {
    signal(SIGPIPE, SIG_IGN)
    let address = try service.address()
    guard address != nil || !detach else {
      throw CommandFailure(.usage, "--detach needs a running service; name one with --server or FERRY_SERVER")
    }
    let environment = ProcessInfo.processInfo.environment
    let (target, base) = try targetDirectory()
    try checkOutput(in: target)
    var plan = try plan()
    if detach, let address {
      return try await createOnly(
        ServiceConnection(address, certificateAuthorities: service.serverCAFile), plan)
    }
    let interrupts = Interrupts.first()
    let state = try GetState(target: target, environment: environment)
    plan.directoryLabel = state.label
    for index in plan.sources.indices {
      plan.sources[index].item.hasOtherOptions = state.hasOtherOptions(
        plan.sources[index].item.key, plan.line(index))
    }
    var own: OwnService?
    let connection: ServiceConnection
    if let address {
      connection = ServiceConnection(address, certificateAuthorities: service.serverCAFile)
    } else {
      let started = try await OwnService.start(for: state, options: serviceOptions)
      (own, connection) = (started, started.connection)
    }
    let showsBars = Terminal.isError && Terminal.movesCursor()
    let form: GetOutput.Form = json ? .json : quiet ? .quiet : showsBars ? .bars : .lines
    var runner = GetRunner(
      GetTasks(connection: connection, plan: plan), state,
      board: TransferBoard(plan.sources.map(\.item), window: jobs ?? Self.window, tries: tries),
      display: GetOutput(form, base: base, .error), output: output, keepsBodies: own == nil,
      serviceRuns: { [own] in own?.isRunning ?? true })
    let ending: Result<GetRunner.Ending, CommandFailure>
    do throws(CommandFailure) { ending = .success(try await runner.run(interrupts)) } catch {
      ending = .failure(error)
    }
    if case .success(.interrupted) = ending, own == nil { await runner.tasks.suspend(runner.board.tasks) }
    if let own { await own.stop() } else { await connection.close() }
    switch try ending.get() {
    case .interrupted:
      ErrorOutput.write("suspended; the same command continues the downloads")
      throw CommandFailure(.interrupted)
    case .done:
      runner.display.finish(runner.board)
      // Without a file and without bytes from which a download could continue, the state has no use.
      let isUseless = runner.board.firstFailure == nil || runner.board.hasNothingToContinue
      if !runner.hasOthers, isUseless { state.remove() }
      if let failure = runner.board.firstFailure { throw CommandFailure(failure.cause) }
      if let failure = runner.display.failure { throw failure }
    }
  }

  private var serviceOptions: [String] {
    allowNetwork.flatMap { ["--allow-network", $0] } + (caFile.map { ["--ca-file", $0] } ?? [])
  }

  private func targetDirectory() throws(CommandFailure) -> (path: String, base: String) {
    let directory = directory ?? "."
    if self.directory != nil { try OutputDirectory.make(directory) }
    guard let resolved = realpath(directory, nil), let current = realpath(".", nil) else {
      throw CommandFailure(.file, "\(directory): \(ProcessHandle.text(ofError: errno))")
    }
    defer {
      free(resolved)
      free(current)
    }
    return (String(cString: resolved), String(cString: current) + "/")
  }

  /// Checks that the file of `--output` can be written, before anything is downloaded.
  private func checkOutput(in target: String) throws(CommandFailure) {
    guard let output, output != "-" else { return }
    let path = GetState.file(output, in: target)
    var information = stat()
    let exists = stat(path, &information) == 0
    guard !exists || information.st_mode & S_IFMT != S_IFDIR else {
      throw CommandFailure(.file, "\(path) is a directory; name a file, or use --directory")
    }
    // Bytes go directly to a device or a pipe.
    if exists, information.st_mode & S_IFMT != S_IFREG { return }
    let parent = OutputDirectory.of(path)
    guard access(parent, W_OK | X_OK) == 0 else {
      throw CommandFailure(.file, "\(parent) cannot be written: \(ProcessHandle.text(ofError: errno))")
    }
  }

  private func plan() throws -> GetPlan {
    var given = urls
    if let input { given += GetPlan.urls(ofList: try InputFile.text(input)) }
    guard !given.isEmpty else { throw CommandFailure(.usage, "input: the list has no URL") }
    guard given.count == 1 || output == nil else {
      throw CommandFailure(
        .usage, "--output names one file, but there are \(given.count) URLs; use --directory")
    }
    guard given.count == 1 || sha256 == nil else {
      throw CommandFailure(
        .usage, "--sha256 belongs to one file, but there are \(given.count) URLs; give one URL")
    }
    var user = user
    if let name = user, !name.contains(":") {
      guard let password = try Terminal.ask("Password of \(name): ", isSecret: true) else {
        throw CommandFailure(.usage, "--user has no password, and there is no terminal to ask for it")
      }
      user = "\(name):\(password)"
    }
    var plan = GetPlan()
    var keys: Set<String> = []
    for text in given {
      let url = GetPlan.withScheme(text)
      let bare = GetPlan.parts(url).bare
      let key = GetState.key(url: bare, output: output)
      // A URL that is given twice is one file.
      guard keys.insert(key).inserted else { continue }
      var item = TransferItem(url: bare, key: key)
      item.sha256 = sha256?.lowercased()
      plan.sources.append(.init(url: user.map { GetPlan.url(url, withUser: $0) } ?? url, item: item))
    }
    (plan.headers, plan.labels, plan.statuses) = (try fields(), try labels(), try statuses())
    (plan.sha256, plan.tries, plan.webhook) = (sha256, tries, webhook)
    plan.timeout = timeout
    plan.bytesPerSecond = limitRate.flatMap { Quantities.byteCount($0) }
    return plan
  }

  /// Creates the tasks and prints their ids.
  private func createOnly(_ connection: ServiceConnection, _ plan: GetPlan) async throws(CommandFailure) {
    let tasks = GetTasks(connection: connection, plan: plan)
    var firstFailure: TransferItem.Failure?
    for start in stride(from: 0, to: plan.sources.count, by: TransferBoard.batch) {
      let items = Array(start..<min(start + TransferBoard.batch, plan.sources.count))
      for (item, result) in await tasks.create(items) {
        switch result {
        case .success(let task): try Terminal.output([task])
        case .failure(let failure):
          firstFailure = firstFailure ?? failure
          ErrorOutput.write("\(plan.sources[item].item.url): \(failure.message)")
        }
      }
    }
    await connection.close()
    if let firstFailure { throw CommandFailure(firstFailure.cause) }
  }
}
