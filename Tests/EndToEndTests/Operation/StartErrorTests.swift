import Foundation
import TestSupport
import Testing

/// A failed start prints one line, which names the cause and a remedy. The exit status says the kind of error.
@Suite(.serialized, .blocking) struct StartErrorTests {
  private static let usage: Int32 = 64
  private static let badSetting: Int32 = 78
  private static let other: Int32 = 1

  private let directory = TemporaryDirectory.make("ferry-start-error")

  private func path(_ name: String) -> String { directory + "/" + name }

  private func file(_ name: String, _ text: String) throws -> String {
    try text.write(toFile: path(name), atomically: false, encoding: .utf8)
    return path(name)
  }

  private func expect(
    _ status: Int32, _ parts: String..., of arguments: [String], _ environment: [String: String] = [:],
    wrapper: [String] = [], _ location: SourceLocation = #_sourceLocation
  ) throws {
    let result = try FerryCommand.run(arguments, wrapper: wrapper, environment: environment)
    #expect(result.status == status, "\(result)", sourceLocation: location)
    #expect(result.output.hasPrefix("ferry: "), "\(result)", sourceLocation: location)
    #expect(result.output.split(separator: "\n").count == 1, "\(result)", sourceLocation: location)
    for part in parts {
      #expect(result.output.contains(part), "\(part): \(result)", sourceLocation: location)
    }
  }

  /// Returns a `serve` command with its own data directory, on a free port unless the options name one.
  private func serve(_ options: String...) -> [String] {
    let listen = options.contains("--listen") ? [] : ["--listen", "127.0.0.1:0"]
    return ["serve", "--data-directory", path("data")] + listen + options
  }

  // MARK: The command line

  @Test(arguments: [
    (["serve", "--nonsense"], "Unknown option '--nonsense'"), (["serve", "extra"], "Unexpected argument"),
    (["serve", "--transfer-loops"], "Missing value"), (["nonsense"], "Unexpected argument"),
    (["serve", "--listen", "a", "--tokens", "one"], "Unknown option '--tokens'"),
    (["serve", "--workers", "2"], "Unknown option '--workers'; it is called --transfer-loops now"),
  ])
  func `malformed command line is a usage error`(_ arguments: [String], _ word: String) throws {
    let help = arguments[0] == "serve" ? "(see 'ferry serve --help')" : "(see 'ferry --help')"
    try expect(Self.usage, word, help, of: arguments)
  }

  // MARK: The listening address

  @Test func `port in use is reported`() throws {
    let origin = TestOrigin { _, _ in false }
    let port = try #require(origin.url.split(separator: ":").last)
    try expect(
      Self.other, "listen: ", "port \(port)", "Address already in use", "use another port",
      of: serve("--listen", "127.0.0.1:\(port)"))
    withExtendedLifetime(origin) {}
  }

  @Test func `address of another machine is reported`() throws {
    try expect(
      Self.other, "listen: ", "192.0.2.1", "Cannot assign requested address", "no interface",
      of: serve("--listen", "192.0.2.1:0"), ["FERRY_TOKENS": "one"])
  }

  /// A network namespace of its own, because the machine may allow low ports to all users.
  @Test func `privileged port is reported`() throws {
    FerryCommand.giveToNobody(directory)
    try expect(
      Self.other, "listen: ", "port 80", "Permission denied", "below 1024",
      of: serve("--listen", "0.0.0.0:80"), ["FERRY_TOKENS": "one"],
      wrapper: ["unshare", "-n"] + FerryCommand.asNobody)
  }

  // MARK: Directory, database and descriptors

  @Test func `invalid data directory is reported`() throws {
    let file = try file("file", "")
    let listen = ["--listen", "127.0.0.1:0"]
    try expect(
      Self.other, "data-directory: \(file) is not a directory", "name",
      of: ["serve", "--data-directory", file] + listen)
    try expect(
      Self.other, "data-directory: \(file)/x cannot be created", "Not a directory", "name a directory",
      of: ["serve", "--data-directory", file + "/x"] + listen)
    try expect(
      Self.other, "data-directory: ", "name the data directory of a service",
      of: ["rotate-key", "--data-directory", path("none")])
    try expect(
      Self.badSetting, "data-directory: the value is empty", of: ["serve", "--data-directory", ""] + listen)
  }

  @Test func `invalid database is reported`() throws {
    try FileManager.default.createDirectory(atPath: path("data"), withIntermediateDirectories: true)
    _ = try file("data/ferry.db", String(repeating: "no database ", count: 10_000))
    try expect(Self.other, "data-directory: ", "ferry.db cannot be opened", "not a database", of: serve())
  }

  @Test func `too few descriptors are reported`() throws {
    try expect(
      Self.other, "descriptors: ", "63", "at least 64", "LimitNOFILE", of: serve(),
      wrapper: ["prlimit", "--nofile=63:63"])
  }

  @Test func `minimum of descriptors is enough`() throws {
    let ferry = try FerryProcess(wrapper: ["prlimit", "--nofile=64:64"])
    #expect(try ferry.call("GET", "/readyz").status == 200)
  }

  // MARK: Files that settings name

  @Test func `missing files are reported`() throws {
    for name in ["ca-file", "token-file", "webhook-secret-file", "secret-key-file", "config"] {
      try expect(
        Self.badSetting, "ferry: \(name): /no/such", "does not exist", of: serve("--" + name, "/no/such"))
      try expect(Self.badSetting, "ferry: \(name): \(directory) is a dir", of: serve("--" + name, directory))
    }
  }

  @Test func `unreadable files are reported`() throws {
    FerryCommand.giveToNobody(directory)
    for name in ["ca-file", "token-file", "webhook-secret-file", "secret-key-file", "config"] {
      let path = try file(name, "")
      chmod(path, 0)
      try expect(
        Self.badSetting, "ferry: \(name): \(path) cannot be read by this user", of: serve("--" + name, path),
        wrapper: FerryCommand.asNobody)
    }
  }

  @Test(arguments: [
    ("ca-file", "nothing", "PEM"), ("token-file", "a b c", "line 1"), ("token-file", "\n", "no token"),
    ("webhook-secret-file", "x", "whsec_"), ("secret-key-file", "x", "base64 of 32 bytes"),
    ("config", "{\n \"a\" 1}", "line 2, column 6: expected ':'"), ("config", "[]", "an array"),
    ("config", #"{"transferLoop":1}"#, "did you mean transferLoops?"),
    ("config", #"{"transferLoops":"x"}"#, "'transferLoops' in "),
    ("config", #"{"transferLoops":{}}"#, "must be a number"),
    ("config", #"{"transferLoops":65}"#, "between 1 and 64"),
  ])
  func `files with wrong contents are reported`(_ name: String, _ text: String, _ word: String) throws {
    try expect(Self.badSetting, word, of: serve("--" + name, try file("it", text)))
  }

  @Test func `secret files that others may write are refused`() throws {
    for name in ["token-file", "webhook-secret-file", "secret-key-file"] {
      for mode: mode_t in [0o666, 0o620] {
        let path = try file(name, "s3cret")
        chmod(path, mode)
        try expect(
          Self.badSetting, "ferry: \(name): \(path) ", "`chmod go-w \(path)`", of: serve("--" + name, path))
      }
    }
  }

  /// A token file that all users can read causes a warning, unless its directory keeps them out.
  @Test(
    arguments: [(0o644, 0o755, true), (0o640, 0o755, false), (0o644, 0o700, false)]
      as [(mode_t, mode_t, Bool)])
  func `readable token file causes warning`(_ mode: mode_t, _ directoryMode: mode_t, _ isTold: Bool) throws {
    let token = try file("tokens", "s3cret")
    chmod(token, mode)
    chmod(directory, directoryMode)
    let ferry = try FerryProcess(options: ["--token-file", token])
    #expect(ferry.startLog.contains("\(token) can be read by all users") == isTold)
    #expect(ferry.terminate() == 0)
  }

  // MARK: The data directory

  @Test func `data directory of another user that others may write is refused`() throws {
    let place = path("data")
    mkdir(place, 0o777)
    chmod(place, 0o777)
    chown(place, 4242, 4242)
    try expect(
      Self.badSetting, "ferry: data-directory: \(place) belongs to user 4242", "`chmod go-w \(place)`",
      of: serve())
    chown(place, 0, 0)
    let ferry = try FerryProcess(directory: place)
    var information = stat()
    #expect(stat(place, &information) == 0 && information.st_mode & 0o777 == 0o700)
    #expect(ferry.terminate() == 0)
  }

  // MARK: Values

  @Test(arguments: [
    ("transfer-loops", "0"), ("maximum-transfers", "many"), ("maximum-body-size", "-1"),
    ("log-level", "loud"),
    ("task-retention", "3153600001"), ("discretionary-window", "22"), ("discretionary-maximum-load", "x"),
    ("maximum-body-size", "99999999999999999999"), ("interface-class", "x"),
  ])
  func `invalid value is reported`(_ name: String, _ value: String) throws {
    let variable = "FERRY_" + name.uppercased().replacing("-", with: "_")
    try expect(
      Self.badSetting, "ferry: \(name): ", of: ["serve", "--listen", "127.0.0.1:0", "--\(name)=\(value)"])
    try expect(
      Self.badSetting, "ferry: \(name): ", "(\(variable))", of: ["serve", "--listen", "127.0.0.1:0"],
      [variable: value])
  }

  @Test func `error stays one line if its value has a line break`() throws {
    try expect(Self.badSetting, "'a b'", of: serve("--transfer-loops", "a\nb"))
  }
}
