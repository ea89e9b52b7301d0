import Glibc

// The program of `make parsers` and `make fuzz-parsers`, which runs one parser on files, or on input from libFuzzer.

/// Runs a parser. Callgrind counts the instructions of this function by its symbol name.
@inline(never) @_silgen_name("probe_parse") func parse(
  _ parser: Int, _ start: UnsafePointer<UInt8>?, _ count: Int
) {
  Parsers.all[parser].parse(Array(UnsafeBufferPointer(start: start, count: count)))
}

/// Returns the CPU time of this thread in nanoseconds.
func cpuTime() -> Int {
  var now = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
  return now.tv_sec * 1_000_000_000 + now.tv_nsec
}

func bytes(of path: String) -> [UInt8]? {
  guard let file = fopen(path, "r") else { return nil }
  defer { fclose(file) }
  var (bytes, chunk) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 16))
  while case let count = fread(&chunk, 1, chunk.count, file), count > 0 { bytes += chunk[..<count] }
  return bytes
}

/// Parses each file `times` times, and prints the least CPU time in nanoseconds.
func run(_ parser: Int, _ paths: [String], times: Int) -> Int32 {
  for path in paths {
    guard let bytes = bytes(of: path) else {
      print("\(path) cannot be read")
      return 1
    }
    var least = Int.max
    for _ in 0..<times {
      let begin = cpuTime()
      bytes.withUnsafeBufferPointer { parse(parser, $0.baseAddress, $0.count) }
      least = min(least, cpuTime() - begin)
    }
    print(least, path)
  }
  return 0
}

#if FUZZING
  // The entry point of libFuzzer: https://llvm.org/docs/LibFuzzer.html#using-libfuzzer-as-a-library
  @_silgen_name("LLVMFuzzerRunDriver") func runFuzzer(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
  ) -> CInt

  nonisolated(unsafe) var fuzzed = 0
  /// The limit in nanoseconds of CPU time, far above the time for 100 KiB with all checks of fuzzing.
  let mostTime = 1_000_000_000

  func fuzz(_ parser: Int, _ options: [String]) -> Int32 {
    fuzzed = parser
    var count = CInt(options.count + 1)
    var arguments = (["probe"] + options).map { strdup($0) } + [nil]
    return arguments.withUnsafeMutableBufferPointer { buffer in
      guard var start = buffer.baseAddress else { return 1 }
      return runFuzzer(&count, &start) { start, size in
        let begin = cpuTime()
        parse(fuzzed, start, size)
        precondition(cpuTime() - begin < mostTime, "one input took more than a second of CPU time")
        return 0
      }
    }
  }
#else
  func fuzz(_ parser: Int, _ options: [String]) -> Int32 {
    print("build with -D FUZZING, as `make fuzz-parsers` does")
    return 64
  }
#endif

let words = Array(CommandLine.arguments.dropFirst())
let parser = words.count > 1 ? Parsers.all.firstIndex { $0.name == words[1] } : nil
switch (words.first, parser) {
case ("list", nil): for parser in Parsers.all { print(parser.name) }
case ("parse", let parser?): exit(run(parser, Array(words.dropFirst(2)), times: 1))
case ("time", let parser?): exit(run(parser, Array(words.dropFirst(2)), times: 5))
case ("fuzz", let parser?): exit(fuzz(parser, Array(words.dropFirst(2))))
default:
  print(
    "usage: probe list | parse PARSER FILE... | time PARSER FILE... | fuzz PARSER [OPTION OF LIBFUZZER]...")
  exit(64)
}
