import Testing

@testable import Addresses

@Suite struct InterfacePolicyTests {
  @Test(
    arguments: [
      ([], "eth0", []),
      (["eth0=expensive"], "eth0", .expensive), (["eth0=expensive"], "eth1", []),
      (["eth0=expensive"], "eth01", []),
      (["wwan*=cellular"], "wwan0", [.cellular, .expensive]),
      (["wwan*=cellular"], "wwan", [.cellular, .expensive]), (["wwan*=cellular"], "wwa", []),
      (["wwan0=cellular,constrained"], "wwan0", .all), (["*=constrained"], "eth0", .constrained),
      (["eth*=expensive", "eth1=constrained", "eth1=constrained"], "eth1", [.expensive, .constrained]),
      (["eth0.100=expensive"], "eth0.100", .expensive), (["a=b=expensive"], "a", nil),
    ] as [([String], String, InterfaceClasses?)])
  func `interface has the classes of all its settings`(
    _ texts: [String], _ name: String, _ expected: InterfaceClasses?
  ) {
    #expect((try? InterfacePolicy(parsing: texts))?.classes(of: name) == expected)
  }

  @Test(arguments: [
    ("wwan0", "\"wwan0\" is not an interface, = and its classes; write it like eth1=expensive"),
    (
      "wwan0=celular",
      "\"celular\" in \"wwan0=celular\" is not a class; use one of cellular, expensive, constrained"
    ),
    ("wwan0=", "\"\" in \"wwan0=\" is not a class; use one of cellular, expensive, constrained"),
    (
      "wwan0=cellular,",
      "\"\" in \"wwan0=cellular,\" is not a class; use one of cellular, expensive, constrained"
    ),
    ("=cellular", "\"\" in \"=cellular\" is not the name of an interface; only its last character may be *"),
    (
      "w*0=cellular",
      "\"w*0\" in \"w*0=cellular\" is not the name of an interface; only its last character may be *"
    ),
    (
      "w**=cellular",
      "\"w**\" in \"w**=cellular\" is not the name of an interface; only its last character may be *"
    ),
    (
      "a b=cellular",
      "\"a b\" in \"a b=cellular\" is not the name of an interface; only its last character may be *"
    ),
    (
      "longer-than-15-b=cellular",
      "\"longer-than-15-b\" in \"longer-than-15-b=cellular\" is not the name of an interface; only its last character may be *"
    ),
  ])
  func `fault names the text`(_ text: String, _ message: String) {
    #expect(throws: InterfacePolicy.Fault(message: message)) {
      try InterfacePolicy(parsing: ["eth0=expensive", text])
    }
  }
}
