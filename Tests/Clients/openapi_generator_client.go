// Drives Ferry with the client that openapi-generator generates from openapi.yaml for Go.
//
// usage: client SERVICE ORIGIN
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	ferry "ferry_client"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func expect(is bool, what ...any) {
	if !is {
		panic(fmt.Sprint(what...))
	}
}

func main() {
	configuration := ferry.NewConfiguration()
	configuration.Servers = ferry.ServerConfigurations{{URL: os.Args[1]}}
	client, background := ferry.NewAPIClient(configuration), context.Background()

	wanted := ferry.NewSessionCreation()
	wanted.SetDescription("generated")
	session, _, err := client.SessionsAPI.CreateSession(background).SessionCreation(*wanted).Execute()
	check(err)
	read, _, err := client.SessionsAPI.GetSession(background, session.Id).Execute()
	check(err)
	expect(read.GetDescription() == "generated", read.GetDescription())

	creation := ferry.NewTaskCreation(ferry.DOWNLOAD)
	creation.SetRequest(*ferry.NewRequestCreation(os.Args[2]))
	creation.SetResume(true)
	task, _, err := client.TasksAPI.CreateTask(background, session.Id).TaskCreation(*creation).Execute()
	check(err)
	for end := time.Now().Add(20 * time.Second); task.State != ferry.COMPLETED; {
		expect(time.Now().Before(end), task.State)
		task, _, err = client.TasksAPI.GetTask(background, task.Id).Execute()
		check(err)
	}
	response, body := task.GetResponse(), task.GetBody()
	expect(response.Status == 200, response.Status)
	file, _, err := client.BodiesAPI.GetBody(background, task.Id).Execute()
	check(err)
	information, err := file.Stat()
	check(err)
	expect(information.Size() == body.Size && body.Size > 0, information.Size(), body.Size)
	check(os.Remove(file.Name()))
	metrics, _, err := client.TasksAPI.GetMetrics(background, task.Id).Execute()
	check(err)
	expect(len(metrics.TransactionMetrics) == 1, metrics)

	refusal, err := client.SessionsAPI.DeleteSession(background, session.Id).Execute()
	expect(err != nil && refusal.StatusCode == http.StatusConflict, err)
	_, _, err = client.SessionsAPI.InvalidateSession(background, session.Id).Invalidation(*ferry.NewInvalidation()).Execute()
	check(err)
	_, err = client.SessionsAPI.DeleteSession(background, session.Id).Execute()
	check(err)
	fmt.Println("driven")
}
