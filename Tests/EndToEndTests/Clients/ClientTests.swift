import Foundation
import TestSupport
import Testing

/// The clients for Python and TypeScript.
@Suite(.blocking, .endsInTime) struct ClientTests {
  @Test func `generated files agree with the contract`() throws {
    let result = try ChildProcess.run(ServerFiles.python, [ServerFiles.generator, "--check"])
    #expect(result.status == 0 && result.output.hasSuffix("agree with openapi.yaml\n"), "\(result.output)")
  }

  /// Signatures and event streams have vectors that both clients share.
  @Test func `Python client passes its tests`() throws {
    let packages = try ClientPackages.shared()
    let result = try ChildProcess.run(
      packages.python, ["-m", "unittest", "client_test"], environment: packages.environment(),
      directory: packages.source + "/clients/tests")
    #expect(result.status == 0 && result.output.hasSuffix("OK\n"), "\(result.output)")
  }

  @Test func `TypeScript client passes its tests`() throws {
    let packages = try ClientPackages.shared()
    let result = try ChildProcess.run(
      "/usr/bin/env", ["node", "--test", "client_test.mjs"], environment: packages.environment(),
      directory: packages.node)
    #expect(result.status == 0 && result.output.contains("fail 0\n"), "\(result.output)")
  }

  @Test(arguments: ["python", "typescript"]) func `client drives a service`(_ language: String) throws {
    let packages = try ClientPackages.shared()
    let ferry = try FerryProcess()
    let origin = try ClientPackages.origin()
    let url = "http://127.0.0.1:\(origin.ports[0])"
    let command =
      language == "python"
      ? [packages.python, "-W", "error", packages.source + "/clients/tests/service_test.py", url]
      : ["node", packages.node + "/service_test.mjs", url]
    let result = try ChildProcess.run(
      "/usr/bin/env", command,
      environment: packages.environment(["FERRY_SERVER": "http://127.0.0.1:\(ferry.port)"]), patience: 120)
    #expect(result.status == 0 && result.output.hasSuffix("driven\n"), "\(result.output)")
    withExtendedLifetime((ferry, origin)) {}
  }

  @Test(arguments: ["python", "typescript"]) func `programs of the page on clients run`(_ language: String)
    throws
  {
    let packages = try ClientPackages.shared()
    let ferry = try FerryProcess()
    let origin = try ClientPackages.origin()
    let result = try ChildProcess.run(
      ServerFiles.python,
      [
        ServerFiles.clientTest("page.py"), language, packages.directory,
        "http://127.0.0.1:\(origin.ports[0])",
      ],
      environment: packages.environment(["FERRY_SERVER": "http://127.0.0.1:\(ferry.port)"]), patience: 120)
    #expect(result.status == 0 && result.output.hasSuffix(" programs ran\n"), "\(result.output)")
    withExtendedLifetime((ferry, origin)) {}
  }
}
