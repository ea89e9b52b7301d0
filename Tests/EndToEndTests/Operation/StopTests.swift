import Foundation
import JSON
import TestSupport
import Testing

/// `ferry stop` and `ferry health`.
@Suite(.blocking, .endsInTime) struct StopTests {
  private let directory = TemporaryDirectory.make("ferry-stop")

  private func stop(_ options: String...) throws -> ChildProcess.Result {
    try FerryCommand.run(["stop", "--data-directory", directory] + options)
  }

  @Test func `status is three if nothing runs`() throws {
    let result = try stop()
    #expect(result.status == 3 && result.output == "no service runs in \(directory)\n")
    let both = try stop("--worker")
    #expect(both.status == 3)
    #expect(both.output == "no service runs in \(directory)\nno worker runs in \(directory)\n")
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
  }

  @Test func `stop ends the service and its worker continues`() throws {
    let ferry = try FerryProcess(directory: directory)
    _ = try ferry.background("a", #","delegate":{}"#)
    let worker = try ferry.worker.waitUntilItWorks()
    let result = try stop()
    #expect(result.status == 0)
    #expect(result.output == "stopped the service (\(ferry.processIdentifier)) of \(directory)\n")
    #expect(ferry.terminate() == 0 && ferry.worker.pid == worker)
    let again = try stop("--worker")
    #expect(again.status == 0)
    #expect(
      again.output == "no service runs in \(directory)\nstopped the worker (\(worker)) of \(directory)\n")
    #expect(ferry.worker.pid == nil && ferry.worker.log.contains("its progress is stored"))
  }

  @Test func `stop with worker option ends both`() throws {
    let ferry = try FerryProcess(directory: directory)
    _ = try ferry.background("a", #","delegate":{}"#)
    let worker = try ferry.worker.wait()
    let result = try stop("--worker")
    #expect(result.status == 0)
    #expect(
      result.output
        == "stopped the service (\(ferry.processIdentifier)) of \(directory)\nstopped the worker (\(worker)) of \(directory)\n"
    )
    #expect(ferry.worker.pid == nil && ferry.terminate() == 0)
  }

  /// Runs the binary in a mount namespace whose `/etc` contains only `ferry.env`.
  /// - Parameter readable: Whether the file may be read. Otherwise the command runs as root without capabilities.
  private func run(_ arguments: String..., package text: String, readable: Bool = true) throws
    -> ChildProcess.Result
  {
    let script = """
      mount -t tmpfs none /etc && mkdir /etc/ferry && printf %s "$1" >/etc/ferry/ferry.env \
        && chmod "$2" /etc/ferry/ferry.env && shift 2 && exec "$@"
      """
    let world = [
      "unshare", geteuid() == 0 ? "-m" : "-Urm", "sh", "-c", script, "sh", text, readable ? "640" : "0",
    ]
    let bounds = readable ? [] : ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    return try FerryCommand.run(arguments, wrapper: world + bounds)
  }

  @Test func `packaged service needs no options`() throws {
    let ferry = try FerryProcess(directory: directory)
    let variables = "FERRY_DATA_DIRECTORY=\(directory)\nFERRY_LISTEN='127.0.0.1:\(ferry.port)'\n"
    let named = "\(directory) ('FERRY_DATA_DIRECTORY' in /etc/ferry/ferry.env)"
    let health = try run("health", package: variables)
    #expect(health.status == 0 && health.output == "ok (127.0.0.1:\(ferry.port))\n")
    let config = try run("config", package: variables)
    #expect(config.output.contains(#/(?m)^data-directory +/.+ +/etc/ferry/ferry.env$/#))
    let stopped = try run("stop", package: variables)
    #expect(stopped.status == 0)
    #expect(stopped.output == "stopped the service (\(ferry.processIdentifier)) of \(named)\n")
    #expect(ferry.terminate() == 0)
    let again = try run("stop", package: variables)
    #expect(again.status == 3 && again.output == "no service runs in \(named)\n")
    let key = directory + "/secret-key"
    FerryCommand.giveToNobody(key)
    let owner = try #require(FileManager.default.attributesOfItem(atPath: key)[.ownerAccountID] as? Int)
    let rotated = try run("rotate-key", package: variables)
    #expect(try FileManager.default.attributesOfItem(atPath: key)[.ownerAccountID] as? Int == owner)
    #expect(rotated.status == 0 && rotated.output.hasSuffix(" rows re-encrypted in \(named)\n"))
  }

  @Test(arguments: ["stop", "config", "health", "rotate-key"])
  func `unreadable package settings ask for sudo`(_ command: String) throws {
    let result = try run(command, package: "FERRY_TOKENS=s3cret", readable: false)
    let option = command == "health" ? "--listen" : "--data-directory"
    #expect(result.status == 78)
    #expect(
      result.output
        == "ferry: /etc/ferry/ferry.env cannot be read by this user; use sudo, or name the service with \(option)\n"
    )
  }

  @Test func `directory that cannot be searched asks for sudo`() throws {
    chmod(directory, 0)
    defer { chmod(directory, 0o700) }
    let result = try FerryCommand.run(
      ["stop", "--data-directory", directory], wrapper: ["setpriv", "--bounding-set=-all", "--inh-caps=-all"])
    #expect(result.status == 1)
    #expect(
      result.output == "ferry: data-directory: \(directory) cannot be searched by this user; use sudo\n")
  }

  @Test func `frozen service is an error after the timeout`() throws {
    let ferry = try FerryProcess(directory: directory)
    ferry.signal(SIGSTOP)
    let result = try stop("--timeout", "1")
    #expect(result.status == 1)
    #expect(
      result.output
        == "ferry: the service of \(directory) (\(ferry.processIdentifier)) has not ended within 1 seconds; try a longer --timeout\n"
    )
    ferry.signal(SIGCONT)
    #expect(ferry.terminate() == 0)
  }

  /// The lock's holder is in another PID namespace. The process that has its id here must not receive the signal.
  @Test func `process of another namespace is not signalled`() throws {
    let ferry = try FerryProcess(
      directory: directory, wrapper: ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"])
    let result = try stop()
    #expect(result.status == 1 && result.output.contains("(1) has just ended, or runs in another container"))
    #expect(try ferry.call("GET", "/livez").status == 200)
  }

  @Test(arguments: ["0", "soon"]) func `invalid timeout is a usage error`(_ time: String) throws {
    #expect(try stop("--timeout", time).status == 64)
  }

  @Test func `health reports live, ready and dead services`() throws {
    let ferry = try FerryProcess(directory: directory)
    for host in ["127.0.0.1", "0.0.0.0"] {
      for options in [[], ["--ready"]] {
        let result = try FerryCommand.run(["health", "--listen", "\(host):\(ferry.port)"] + options)
        #expect(result.status == 0 && result.output == "ok (\(host):\(ferry.port))\n")
      }
    }
    let variable = ["FERRY_LISTEN": "127.0.0.1:\(ferry.port)", "FERRY_TOKEN_FILE": "/nowhere"]
    #expect(try FerryCommand.run(["health"], environment: variable).status == 0)
    try FileManager.default.removeItem(atPath: directory)
    let lives = try FerryCommand.run(["health"], environment: variable)
    #expect(lives.status == 0)
    let unready = try FerryCommand.run(["health", "--ready"], environment: variable)
    #expect(unready.status == 1)
    #expect(unready.output == "ferry: http://127.0.0.1:\(ferry.port)/readyz replied with status 503\n")
    ferry.kill()
    let dead = try FerryCommand.run(["health"], environment: variable)
    #expect(dead.status == 1)
    #expect(dead.output == "ferry: 127.0.0.1:\(ferry.port) cannot be reached: Connection refused\n")
  }
}
