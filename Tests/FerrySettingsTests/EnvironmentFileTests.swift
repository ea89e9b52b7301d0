import Testing

@testable import FerrySettings

/// Environment files in the format of systemd.
@Suite struct EnvironmentFileTests {
  @Test(
    arguments: [
      ("A=1", ["A": "1"]), ("A=1\nB=2\n", ["A": "1", "B": "2"]), ("A=1\r\nB=2\r\n", ["A": "1", "B": "2"]),
      ("# A=1\n;B=2\n  # C=3\nD=4", ["D": "4"]), ("A=1\nA=2", ["A": "2"]), ("A=", ["A": ""]),
      ("A\nB=1", ["B": "1"]),
      ("  A =  x y  \n", ["A": "x y"]), ("A=x#y", ["A": "x#y"]), ("A=x=y", ["A": "x=y"]),
      ("A='x \"y\" \\z'", ["A": "x \"y\" \\z"]),
      ("A=\"x 'y' \\\"z\\\" \\$ \\n\"", ["A": "x 'y' \"z\" $ \\n"]),
      ("A=\" x \"", ["A": " x "]), ("A=\"x\"'y'", ["A": "xy"]), ("A=x \"y\"", ["A": "x \"y\""]),
      ("A=one,\\\ntwo", ["A": "one,two"]), ("A=\"one\\\ntwo\nthree\"", ["A": "onetwo\nthree"]),
      ("A=x\\ \\\\", ["A": "x \\"]),
      ("", [:]), ("\n\n", [:]),
    ] as [(String, [String: String])])
  func `variables are parsed as by systemd`(_ text: String, _ expected: [String: String]) {
    #expect(EnvironmentFile.variables(of: text) == expected)
  }
}
