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

  @Test func whereNothingRunsThereIsNothingToDo() throws {
    let result = try stop()
    #expect(result.status == 0 && result.output == "no service runs in \(directory)\n")
    let both = try stop("--worker")
    #expect(both.status == 0)
    #expect(both.output == "no service runs in \(directory)\nno worker runs in \(directory)\n")
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
  }

  @Test func theServiceIsStoppedAndItsWorkerGoesOn() throws {
    let ferry = try FerryProcess(directory: directory)
    _ = try ferry.background("a", #","delegate":{}"#)
    let worker = try ferry.worker.waitUntilItWorks()
    let result = try stop()
    #expect(result.status == 0)
    #expect(result.output == "stopped the service (\(ferry.processIdentifier))\n")
    #expect(ferry.terminate() == 0 && ferry.worker.pid == worker)
    let again = try stop("--worker")
    #expect(again.status == 0)
    #expect(again.output == "no service runs in \(directory)\nstopped the worker (\(worker))\n")
    #expect(ferry.worker.pid == nil && ferry.worker.log.contains("all that it has done is written down"))
  }

  @Test func bothAreStopped() throws {
    let ferry = try FerryProcess(directory: directory)
    _ = try ferry.background("a", #","delegate":{}"#)
    let worker = try ferry.worker.wait()
    let result = try stop("--worker")
    #expect(result.status == 0)
    #expect(
      result.output
        == "stopped the service (\(ferry.processIdentifier))\nstopped the worker (\(worker))\n")
    #expect(ferry.worker.pid == nil && ferry.terminate() == 0)
  }

  @Test func oneThatDoesNotEndInTimeIsAnError() throws {
    let ferry = try FerryProcess(directory: directory)
    ferry.signal(SIGSTOP)
    let result = try stop("--timeout", "1")
    #expect(result.status == 1)
    #expect(
      result.output
        == "ferry: the service of \(directory) (\(ferry.processIdentifier)) has not ended within 1 seconds\n")
    ferry.signal(SIGCONT)
    #expect(ferry.terminate() == 0)
  }

  /// The lock is held, by somebody who has another number here: whoever has that number is left alone.
  @Test func oneThatCannotBeSeenFromHereIsNotMistaken() throws {
    let ferry = try FerryProcess(
      directory: directory, wrapper: ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"])
    let result = try stop()
    #expect(result.status == 1 && result.output.contains("(1) cannot be seen from here"))
    #expect(try ferry.call("GET", "/livez").status == 200)
  }

  /// It is about its work, and no service.
  @Test(arguments: ["0", "soon"]) func timesAreChecked(_ time: String) throws {
    #expect(try stop("--timeout", time).status == 64)
  }

  @Test func healthIsAsked() throws {
    let ferry = try FerryProcess(directory: directory)
    for host in ["127.0.0.1", "0.0.0.0"] {
      for options in [[], ["--ready"]] {
        let result = try FerryCommand.run(["health", "--listen", "\(host):\(ferry.port)"] + options)
        #expect(result.status == 0 && result.output == "ok\n")
      }
    }
    let variable = ["FERRY_LISTEN": "127.0.0.1:\(ferry.port)", "FERRY_TOKEN_FILE": "/nowhere"]
    #expect(try FerryCommand.run(["health"], environment: variable).status == 0)
    try FileManager.default.removeItem(atPath: directory)
    let lives = try FerryCommand.run(["health"], environment: variable)
    #expect(lives.status == 0)
    let unready = try FerryCommand.run(["health", "--ready"], environment: variable)
    #expect(unready.status == 1)
    #expect(unready.output == "ferry: http://127.0.0.1:\(ferry.port)/readyz answers 503\n")
    ferry.kill()
    let dead = try FerryCommand.run(["health"], environment: variable)
    #expect(dead.status == 1)
    #expect(dead.output == "ferry: 127.0.0.1:\(ferry.port) cannot be reached: Connection refused\n")
  }
}
