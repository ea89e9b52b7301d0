import Glibc

/// A library that can fetch files.
public protocol Fetcher: Sendable {
  /// - Parameter atOnce: The maximum number of connections to a host.
  init(atOnce: Int)

  /// Fetches a URL into a file. Throws if the status is not 200.
  func fetch(_ url: String, into file: String) async throws

  /// Closes all connections.
  func end() async
}

/// The commands of a race, one a line on standard input. Each command prints one line:
///
///     many AT_ONCE COUNT PREFIX DIRECTORY    →  the number of failures
///     each COUNT PREFIX DIRECTORY            →  the microseconds of each, in order
///
/// The URLs are the prefix with 0, 1, 2 … appended, and the files are named 0, 1, 2 ….
public func carryOutCommands<F: Fetcher>(with fetcher: F.Type) async {
  while let line = readLine() {
    let words = line.split(separator: " ").map(String.init)
    switch words.first {
    case "many":
      let failed = await many(
        Jobs(count: Int(words[2])!, prefix: words[3], directory: words[4]), atOnce: Int(words[1])!, F.self)
      print(failed)
    case "each":
      let times = await each(Jobs(count: Int(words[1])!, prefix: words[2], directory: words[3]), F.self)
      print(times.map(String.init).joined(separator: " "))
    default:
      print("no such command")
    }
    fflush(nil)
  }
}

private struct Jobs {
  let count: Int
  let prefix: String
  let directory: String

  func carryOut(_ number: Int, with fetcher: some Fetcher) async throws {
    try await fetcher.fetch("\(prefix)\(number)", into: "\(directory)/\(number)")
  }
}

private func many<F: Fetcher>(_ jobs: Jobs, atOnce: Int, _: F.Type) async -> Int {
  let fetcher = F(atOnce: atOnce)
  let failed = await withTaskGroup(of: Bool.self) { group in
    var next = 0
    var failed = 0
    func start() {
      guard next < jobs.count else { return }
      group.addTask { [next] in (try? await jobs.carryOut(next, with: fetcher)) != nil }
      next += 1
    }
    for _ in 0..<atOnce { start() }
    for await succeeded in group {
      if !succeeded { failed += 1 }
      start()
    }
    return failed
  }
  await fetcher.end()
  return failed
}

private func each<F: Fetcher>(_ jobs: Jobs, _: F.Type) async -> [Int] {
  let fetcher = F(atOnce: 1)
  var times: [Int] = []
  for number in 0..<jobs.count {
    let taken = await ContinuousClock().measure {
      do { try await jobs.carryOut(number, with: fetcher) } catch { fatalError("\(error)") }
    }
    times.append(Int(taken / .microseconds(1)))
    try? await Task.sleep(for: .milliseconds(5))
  }
  await fetcher.end()
  return times
}
